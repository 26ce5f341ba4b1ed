/*
 * What a provider does with the program's memory on a peer's behalf, as an adapter would. Who may
 * touch it at the same time was settled between processes, which the thread sanitizer does not see.
 */
#ifndef DM_PROVIDERS_COMMON_DMA_H
#define DM_PROVIDERS_COMMON_DMA_H

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

/* Between these the thread sanitizer does not check the loads and stores of this thread. */
static inline void dm_dma_begin(void)
{
#ifdef __SANITIZE_THREAD__
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

static inline void dm_dma_end(void)
{
#ifdef __SANITIZE_THREAD__
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

#endif
