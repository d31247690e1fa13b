import { mkdtempDisposable, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startService, type TestService } from '@plumbline/testkit/service'
import { moreStores, type BenchBackend } from './servers.ts'

/** A service with simulated mail hosts that do not reply until `letReply`. */
export interface SilentHosts extends AsyncDisposable {
  readonly service: TestService
  /** Folder for the uploaded files. */
  readonly dir: string
  letReply(): Promise<void>
}

/** Starts such a service on a database of its own, with an email and a batch worker. */
export async function openSilentHosts(backend: BenchBackend, name: string): Promise<SilentHosts> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-silent-'))).path
  const silent = join(dir, 'silent')
  await writeFile(silent, '')
  const service = stack.use(
    await startService({
      ...(await moreStores(backend, name)),
      workers: [['email', `--silent-while=${silent}`], ['batch']],
      env: { REDIS_PREFIX: name },
    }),
  )
  const owned = stack.move()
  return {
    service,
    dir,
    letReply: () => rm(silent),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Writes a file with one address at each of this many domains. */
export async function writeDomains(
  path: string,
  word: 'away' | 'apart' | 'known',
  count: number,
): Promise<void> {
  const lines = Array.from({ length: count }, (_, at) => `info@${word}${at}.example\n`)
  await writeFile(path, ['email\n', ...lines].join(''))
}

/** Waits until this many subjects wait and no worker processes one. */
export async function untilWaiting({ db }: TestService, count: number): Promise<void> {
  for (;;) {
    const { rows } = await db.pool.query<{ waiting: number }>(
      `select coalesce(sum(size), 0)::int as waiting from tasks
       where lease_until is null and group_key is not null`,
    )
    if ((rows[0]?.waiting ?? 0) >= count) return
    await wait(200)
  }
}
