import { holdNewest } from './hold-newest.ts'

/**
 * Detects a server that refuses every recipient with the same text, so that its refusals say
 * nothing about a mailbox.
 */
export interface UniformRejection {
  /** Records an accepted recipient: refusals beside it are about their mailboxes. */
  accepted(group: string): void
  /**
   * Records the refusal of one address. True from the third distinct address on that was refused
   * with the same text while no recipient was accepted.
   */
  refused(group: string, address: string, words: string): boolean
}

/** Distinct addresses refused with the same text from which on it is no coincidence. */
const SAME_REFUSALS = 3

/** Groups tracked, and addresses of each. */
const GROUPS_MAX = 5_000
const WATCH_MS = 30 * 60_000

interface Watch {
  acceptedMs: number
  readonly words: Map<string, Set<string>>
  bornMs: number
}

/** Makes a detector for one process. */
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
      holdNewest(watches, group, watch, GROUPS_MAX)
    }
    return watch
  }
  return {
    accepted(group) {
      watchOf(group).acceptedMs = now()
    },
    refused(group, address, words) {
      const watch = watchOf(group)
      if (now() - watch.acceptedMs < WATCH_MS) return false
      const alike = comparable(words, address)
      let addresses = watch.words.get(alike)
      if (addresses === undefined) {
        // A server whose texts keep changing does not refuse everybody alike.
        if (watch.words.size >= SAME_REFUSALS) watch.words.clear()
        addresses = new Set()
        watch.words.set(alike, addresses)
      }
      if (addresses.size < SAME_REFUSALS) addresses.add(address)
      return addresses.size >= SAME_REFUSALS
    },
  }
}

/**
 * Characters of a refusal that are compared: a server may send 64 KB of them for each recipient.
 */
const COMPARED_MAX_CHARS = 2_000

/** A text without the parts that differ between replies: addresses, names and numbers. */
function comparable(words: string, address: string): string {
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
