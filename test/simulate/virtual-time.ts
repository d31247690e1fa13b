import { AsyncLocalStorage } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { getCallSites } from 'node:util'

/** A process of the simulated service, as the owner of timers. */
export interface Owner {
  readonly name: string
  /** Whether the process was killed: none of its timers fires any more. */
  isDead: boolean
  /** Virtual time until which the process is suspended, as by SIGSTOP. */
  frozenUntilMs: number
}

/** Simulated time, which only passes when it is advanced. */
export interface VirtualTime {
  /** Milliseconds since the world began. */
  nowMs(): number
  /** When the next timer fires; undefined if none is set. */
  nextMs(): number | undefined
  /** Advances time and fires the timers that are due. */
  advanceTo(ms: number): void
  /** Runs work whose timers belong to an owner. */
  run<T>(owner: Owner, work: () => T): T
  /** Waits in virtual time, as a timer of the world itself. */
  wait(ms: number): Promise<void>
}

type Callback = (...args: unknown[]) => void

/** The return value of `setTimeout`, with the methods that the project's code calls. */
class VirtualTimer {
  dueMs = 0
  readonly everyMs: number | undefined
  readonly owner: Owner | undefined
  readonly fire: () => void
  constructor(fire: () => void, owner: Owner | undefined, everyMs: number | undefined) {
    this.fire = fire
    this.owner = owner
    this.everyMs = everyMs
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}

const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
  wait: timersPromises.setTimeout,
}

/** Waits in real time. */
export async function waitRealTime(ms: number): Promise<void> {
  await new Promise<void>((resolve) => real.setTimeout(resolve, ms))
}

/**
 * Replaces timers and `performance.now` for the project's code, for the rest of this process.
 * Packages of third parties keep the real ones, except for the time limits of statements, commands and
 * connections, which a silent connection makes the service wait for.
 */
export function installVirtualTime(): VirtualTime {
  const owners = new AsyncLocalStorage<Owner>()
  const timers = new Set<VirtualTimer>()
  let nowMs = 0

  function start(callback: () => void, ms: number, everyMs?: number): VirtualTimer {
    const bound = AsyncLocalStorage.bind(callback)
    const timer = new VirtualTimer(bound, owners.getStore(), everyMs)
    timer.dueMs = nowMs + Math.max(1, ms)
    timers.add(timer)
    return timer
  }

  async function wait<T>(
    ms = 0,
    value?: T,
    options: { signal?: AbortSignal; ref?: boolean } = {},
  ): Promise<T | undefined> {
    if (isForeign()) return await real.wait(ms, value, options)
    const { signal } = options
    return await new Promise<T | undefined>((resolve, reject) => {
      const abort = (): void => {
        timers.delete(timer)
        reject(new DOMException('The operation was aborted', 'AbortError'))
      }
      const timer = start(() => {
        signal?.removeEventListener('abort', abort)
        resolve(value)
      }, ms)
      if (signal?.aborted === true) abort()
      else signal?.addEventListener('abort', abort, { once: true })
    })
  }

  replace(globalThis, 'setTimeout', (callback: Callback, ms = 0, ...args: unknown[]) =>
    isForeign() ? real.setTimeout(callback, ms, ...args) : start(() => callback(...args), ms),
  )
  replace(globalThis, 'setInterval', (callback: Callback, ms = 0, ...args: unknown[]) =>
    isForeign()
      ? real.setInterval(callback, ms, ...args)
      : start(() => callback(...args), ms, Math.max(1, ms)),
  )
  replace(globalThis, 'clearTimeout', (timer: NodeJS.Timeout | VirtualTimer | undefined) =>
    timer instanceof VirtualTimer ? void timers.delete(timer) : real.clearTimeout(timer),
  )
  replace(globalThis, 'clearInterval', (timer: NodeJS.Timeout | VirtualTimer | undefined) =>
    timer instanceof VirtualTimer ? void timers.delete(timer) : real.clearInterval(timer),
  )
  replace(globalThis.performance, 'now', () => nowMs)
  replace(timersPromises, 'setTimeout', wait)
  syncBuiltinESMExports()

  function due(untilMs: number): VirtualTimer | undefined {
    let first: VirtualTimer | undefined
    for (const timer of timers) {
      if (timer.owner?.isDead === true) timers.delete(timer)
      else if (momentOf(timer) <= untilMs && isBefore(timer, first)) first = timer
    }
    return first
  }

  return {
    nowMs: () => nowMs,
    nextMs: () => {
      const first = due(Infinity)
      return first === undefined ? undefined : momentOf(first)
    },
    advanceTo: (ms) => {
      for (let timer = due(ms); timer !== undefined; timer = due(ms)) {
        nowMs = Math.max(nowMs, momentOf(timer))
        if (timer.everyMs === undefined) timers.delete(timer)
        else timer.dueMs = nowMs + timer.everyMs
        timer.fire()
      }
      nowMs = Math.max(nowMs, ms)
    },
    run: (owner, work) => owners.run(owner, work),
    wait: async (ms) => {
      await new Promise<void>((resolve) => void start(resolve, ms))
    },
  }
}

function momentOf(timer: VirtualTimer | undefined): number {
  if (timer === undefined) return Infinity
  return Math.max(timer.dueMs, timer.owner?.frozenUntilMs ?? 0)
}

/** Timers that are due at the same moment, when their process continues, fire in their order. */
function isBefore(timer: VirtualTimer, other: VirtualTimer | undefined): boolean {
  if (other === undefined) return true
  const byMs = momentOf(timer) - momentOf(other)
  return byMs < 0 || (byMs === 0 && timer.dueMs < other.dueMs)
}

/** Stack frames above the code that sets a timer: `isForeign`, and the replacement of Node's function. */
const OWN_FRAMES = 2

/** Code of the drivers that sets time limits for what the servers do; a pool has other timers too. */
const LIMITS = [
  { file: '/node_modules/pg/lib/client.js' },
  { file: '/node_modules/pg-pool/index.js', functions: ['connect', 'newClient'] },
  { file: '/node_modules/ioredis/built/Command.js', functions: ['setTimeout'] },
] as const satisfies readonly { file: string; functions?: readonly string[] }[]

/** Whether the code that sets a timer is not the project's own, and needs real time. */
function isForeign(): boolean {
  const caller = getCallSites(OWN_FRAMES + 1, { sourceMap: false }).at(OWN_FRAMES)
  const file = caller?.scriptName ?? ''
  if (file.startsWith('node:')) return true
  if (!file.includes('/node_modules/')) return false
  const limit = LIMITS.find((one) => file.endsWith(one.file))
  if (limit === undefined) return true
  return 'functions' in limit && !limit.functions.some((one) => one === caller?.functionName)
}

/** Safe because the replacement behaves like Node's function for the existing callers. */
function replace<Key extends string>(of: { [K in Key]: unknown }, name: Key, by: unknown): void {
  Object.defineProperty(of, name, { value: by, configurable: true, writable: true })
}
