import { execFile } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { z } from 'zod'
import { hasCode } from './error-code.ts'

/**
 * Identifies a process, so that others can tell whether it still runs even if its pid was reused.
 */
export const processIdentity = z.object({
  pid: z.int().min(1),
  /** Start time as the system writes it; null if it cannot be read. */
  began: z.string().nullable(),
  /** Where its pid is valid: boot id and PID namespace, else the host name. */
  scope: z.string(),
})

/** The identity of a process. */
export type ProcessIdentity = z.infer<typeof processIdentity>

/**
 * Whether a process runs; `elsewhere` if its pid belongs to another container or machine, so that
 * it cannot be checked.
 */
export type Liveness = 'lives' | 'gone' | 'elsewhere'

/** The identity of this process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, began: await beginOf(process.pid), scope: await pidScope() }
}

/** Checks whether a process still runs. */
export async function livenessOf(
  { pid, began, scope }: ProcessIdentity,
  own: ProcessIdentity,
): Promise<Liveness> {
  if (scope !== own.scope) return 'elsewhere'
  if (!isThere(pid)) return 'gone'
  const now = await beginOf(pid)
  if (began === null || now === null) return pid === own.pid ? 'gone' : 'lives'
  return began === now ? 'lives' : 'gone'
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process exists if it may not be signalled, since it belongs to another user.
    return hasCode(error, 'EPERM')
  }
}

/**
 * When a process was started: on Linux in ticks since boot (proc(5), field 22), else as `ps` prints
 * it.
 */
async function beginOf(pid: number): Promise<string | null> {
  try {
    if (process.platform !== 'linux') {
      return (await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)])).stdout.trim()
    }
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may contain any characters.
    const facts = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie: it has ended, and its parent has not waited for it.
    return facts[0] === 'Z' ? 'ended' : (facts[19] ?? null)
  } catch {
    return null
  }
}

/** Sources: proc_sys_kernel(5), `random/boot_id`; pid_namespaces(7). */
async function pidScope(): Promise<string> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}
