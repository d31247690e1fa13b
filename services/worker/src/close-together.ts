/**
 * Closes several at the same moment, so that together they take as long as the slowest.
 * @throws what the first of them throws that failed, once all have ended
 */
export async function closeTogether(owned: readonly AsyncDisposable[]): Promise<void> {
  const ends = await Promise.allSettled(owned.map(async (one) => await one[Symbol.asyncDispose]()))
  const fault = ends.find((end) => end.status === 'rejected')
  if (fault !== undefined) throw fault.reason
}
