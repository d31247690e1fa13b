/**
 * Closes several resources concurrently, so that it takes as long as the slowest.
 *
 * @throws the error of the first one that failed, once all are closed
 */
export async function closeTogether(owned: readonly AsyncDisposable[]): Promise<void> {
  const ends = await Promise.allSettled(owned.map(async (one) => await one[Symbol.asyncDispose]()))
  const fault = ends.find((end) => end.status === 'rejected')
  if (fault !== undefined) throw fault.reason
}
