/** Notices a server that refuses every recipient in the same words: then the refusal is about us. */
export interface UniformRejection {
  /** A recipient that was accepted: the refusals beside it are of their mailboxes. */
  accepted(group: string): void
  /**
   * A refusal of one address. True from the third distinct address on that met the same words while
   * nobody was accepted.
   */
  refused(group: string, address: string, words: string): boolean
}

/** Three different names refused in the same words are no accident where no recipient is accepted. */
const SAME_REFUSALS = 3

/** Groups watched, and addresses kept of each. */
const GROUPS_MAX = 5_000
const WATCH_MS = 30 * 60_000

interface Watch {
  acceptedMs: number
  readonly words: Map<string, Set<string>>
  bornMs: number
}

/** Makes a guard for one process. */
export function createUniformRejection(now: () => number): UniformRejection {
  const watches = new Map<string, Watch>()
  const watchOf = (group: string): Watch => {
    let watch = watches.get(group)
    if (watch === undefined || now() - watch.bornMs > WATCH_MS) {
      watch = {
        acceptedMs: watch?.acceptedMs ?? Number.NEGATIVE_INFINITY,
        words: new Map(),
        bornMs: now(),
      }
      watches.set(group, watch)
      if (watches.size > GROUPS_MAX) {
        const oldest = watches.keys().next()
        if (oldest.done !== true) watches.delete(oldest.value)
      }
    }
    return watch
  }
  return {
    accepted(group) {
      const watch = watchOf(group)
      watch.acceptedMs = now()
      watch.words.clear()
    },
    refused(group, address, words) {
      const watch = watchOf(group)
      if (now() - watch.acceptedMs < WATCH_MS) return false
      const alike = likeness(words, address)
      let met = watch.words.get(alike)
      if (met === undefined) {
        // A server with endless different words is not one that refuses everybody alike.
        if (watch.words.size >= SAME_REFUSALS) watch.words.clear()
        met = new Set()
        watch.words.set(alike, met)
      }
      if (met.size < SAME_REFUSALS) met.add(address)
      return met.size >= SAME_REFUSALS
    },
  }
}

/** Characters of a refusal that are compared: a server may send 64 KB of them for each recipient. */
const COMPARED_MAX_CHARS = 2_000

/** A text without what differs from reply to reply: addresses, names and figures. */
function likeness(words: string, address: string): string {
  const local = address.slice(0, address.lastIndexOf('@'))
  return words
    .slice(0, COMPARED_MAX_CHARS)
    .toLowerCase()
    .replaceAll(address.toLowerCase(), '')
    .replaceAll(local.length > 2 ? local.toLowerCase() : address.toLowerCase(), '')
    .replaceAll(/[^\s<>@:;,"'()[\]]{1,64}@[^\s<>:;,"'()[\]]{1,255}/g, '')
    .replaceAll(/[a-z0-9-]{0,40}\d[a-z0-9-]{0,40}/g, '')
    .replaceAll(/\s+/g, ' ')
    .slice(0, 300)
}
