import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A small in-memory file system for a service, which a scenario can fill. */
export interface SmallDisk extends Disposable {
  readonly path: string
  /** Occupies all free space, also that which becomes free later, until `free`. */
  fill(): Promise<void>
  /** Releases the space that `fill` occupies. */
  free(): Promise<void>
}

/** Milliseconds between two checks for space that others have freed. */
const RETRY_MS = 50
const PIECE = Buffer.alloc(65_536)

/** Whether this process may mount a file system. */
export function mayMount(): boolean {
  return process.getuid?.() === 0
}

/**
 * Mounts a tmpfs of `sizeBytes`.
 *
 * @throws if that is not allowed
 */
export function mountSmallDisk(sizeBytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'plumbline-disk-'))
  run('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=0755`, 'tmpfs', path])
  const unmount = (): void => {
    // Lazily: a process that is ending may still have a file open there.
    run('umount', ['-l', path])
    rmSync(path, { recursive: true, force: true })
  }
  process.once('exit', unmount)
  const ballast = join(path, 'ballast')
  let filling: { readonly stop: AbortController; readonly done: Promise<void> } | undefined
  const free = async (): Promise<void> => {
    filling?.stop.abort()
    await filling?.done
    filling = undefined
    rmSync(ballast, { force: true })
  }
  return {
    path,
    fill: async () => {
      const stop = new AbortController()
      const full = Promise.withResolvers<void>()
      filling = { stop, done: keepFull(ballast, stop.signal, full.resolve) }
      await full.promise
    },
    free,
    [Symbol.dispose]: () => {
      filling?.stop.abort()
      process.off('exit', unmount)
      unmount()
    },
  }
}

async function keepFull(path: string, until: AbortSignal, onFull: () => void): Promise<void> {
  await using file = await open(path, 'w')
  while (!until.aborted) {
    try {
      await file.write(PIECE)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      onFull()
      await new Promise((passed) => setTimeout(passed, RETRY_MS))
    }
  }
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
}
