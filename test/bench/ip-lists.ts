import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Number of blocks of each list, as in the public sources in August 2026. */
const SIZES = {
  tor: { v4: 1_340, v6: 0, prefix: 32 },
  vpn: { v4: 10_862, v6: 498, prefix: 24 },
  datacenter: { v4: 42_566, v6: 8_752, prefix: 22 },
  proxy: { v4: 2_000, v6: 0, prefix: 32 },
  threat: { v4: 14_217, v6: 0, prefix: 32 },
  relay: { v4: 30_000, v6: 60_000, prefix: 31 },
} as const

/** A folder of lists as large as the real ones, with made-up blocks; deleted when disposed. */
export async function makeIpLists(): Promise<{ readonly dir: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'bench-lists-'))
  for (const [list, { v4, v6, prefix }] of Object.entries(SIZES)) {
    const lines = [
      ...Array.from(
        { length: v4 },
        () => `${1 + below(222)}.${below(256)}.${below(256)}.0/${prefix}`,
      ),
      ...Array.from({ length: v6 }, () => `2a02:${hex()}:${hex()}:${hex()}::/64`),
    ]
    await writeFile(join(dir, `${list}.bench.txt`), `${lines.join('\n')}\n`)
  }
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

function below(most: number): number {
  return Math.floor(Math.random() * most)
}

function hex(): string {
  return below(65_536).toString(16)
}
