import { execFile } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { z } from 'zod'

/** A process so that another can tell whether it still lives, although its number may be another's by then. */
export const processIdentity = z.object({
  pid: z.int().min(1),
  /** When it began, in the system's own words; null where the system does not tell. */
  began: z.string().nullable(),
  /** Where its number counts: the start of the machine and the PID namespace, else the host's name. */
  place: z.string(),
})

/** A process as others know it. */
export type ProcessIdentity = z.infer<typeof processIdentity>

/** Whether a process lives; `elsewhere` where its number says nothing here, as in another container. */
export type Liveness = 'lives' | 'gone' | 'elsewhere'

/** This process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, began: await beginOf(process.pid), place: await placeOfProcess() }
}

/** What has become of a process. */
export async function livenessOf(
  { pid, began, place }: ProcessIdentity,
  own: ProcessIdentity,
): Promise<Liveness> {
  if (place !== own.place) return 'elsewhere'
  if (!isThere(pid)) return 'gone'
  const now = await beginOf(pid)
  if (began === null || now === null) return pid === own.pid ? 'gone' : 'lives'
  return began === now ? 'lives' : 'gone'
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // A process of somebody else's may be seen and not signalled.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** When a process began: on Linux in ticks since the system's start (proc(5), field 22), else as `ps` says. */
async function beginOf(pid: number): Promise<string | null> {
  try {
    if (process.platform !== 'linux') {
      return (await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)])).stdout.trim()
    }
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may hold anything.
    const facts = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // One that has ended stays so until its parent looks at it.
    return facts[0] === 'Z' ? 'ended' : (facts[19] ?? null)
  } catch {
    return null
  }
}

/** Sources: proc_sys_kernel(5), `random/boot_id`; pid_namespaces(7). */
async function placeOfProcess(): Promise<string> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}
