import { readFile } from 'node:fs/promises'
import type { Member } from '@plumbline/testkit/service'

/** Processor seconds of a process, in user and kernel mode. Source: proc_pid_stat(5). */
export async function processorSeconds({ process }: Member): Promise<number> {
  const stat = await readFile(`/proc/${process.pid}/stat`, 'utf8')
  // The name in the second field may contain spaces; utime and stime are the 12th and 13th fields
  // after it, in hundredths of a second.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) / 100
}
