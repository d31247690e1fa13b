/** Size of a page of memory, in bytes. */
const PAGE = 4_096

/** Fresh pages to touch: more than an allocator has at hand. */
const PAGES = 16_384

/**
 * Microseconds of processor time that this machine takes for a page of fresh memory: below one on
 * most, and ten to twenty in a virtual machine inside another one, where a new process takes several
 * times as long as elsewhere.
 */
export function freshPageMicroseconds(): number {
  const before = process.cpuUsage()
  Buffer.alloc(PAGES * PAGE, 1)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / PAGES
}
