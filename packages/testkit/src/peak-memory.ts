import { readFile, writeFile } from 'node:fs/promises'
import type { Member } from './service.ts'

/** Peak resident memory of a process, in MiB: the kernel's high-water mark. Source: proc_pid_status(5). */
export async function peakMebibytes({ process }: Pick<Member, 'process'>): Promise<number> {
  const status = await readFile(`/proc/${process.pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024
}

/**
 * Resets the peak of a process to its resident memory, and returns that, in MiB. Source:
 * proc_pid_clear_refs(5), value 5.
 */
export async function resetPeak(member: Pick<Member, 'process'>): Promise<number> {
  await writeFile(`/proc/${member.process.pid}/clear_refs`, '5')
  return await peakMebibytes(member)
}
