/*
 * Files of lines NAME VALUE, or NAME = VALUE: the info key "file" of a spawn, and mpiexec -file (MPI-4.0
 * sections 11.5 and 11.8.4, which leave the form to the library). # begins a comment.
 */
#ifndef DM_UTIL_KEY_FILE_H
#define DM_UTIL_KEY_FILE_H

/*
 * Call take for each line that is not empty, until it fails, and return what it did. The value is ""
 * where only a name stands; blanks around it are no part of it. DM_ERR_INFO_VALUE: the file cannot be
 * read.
 */
int dm_key_file_read(const char *path, int (*take)(void *arg, const char *name, const char *value),
                     void *arg);

#endif
