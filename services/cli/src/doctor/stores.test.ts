import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { doctorSettings } from './settings.ts'
import { examineStores } from './stores.ts'

// A file system without any space, on every machine with Linux.
test.runIf(process.platform === 'linux')(
  'the disk of files is examined too where it is not that of data',
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-doctor-'))
    const nothing = { url: null, databaseUrl: null, redisUrl: null, keyPrefix: 'svc', stale: false }
    try {
      const disksFor = async (environment: { readonly FILES_URL?: string }): Promise<unknown> => {
        const findings = await examineStores(
          { ...nothing, dataDir },
          doctorSettings({ DATA_DIR: dataDir, ...environment }),
        )
        return findings.flatMap(({ name, detail }) => (name.startsWith('disk') ? [detail] : []))
      }
      const own = expect.stringMatching(`GiB free below ${dataDir}$`)
      expect(await disksFor({})).toEqual([own])
      expect(await disksFor({ FILES_URL: 'file:///proc' })).toEqual([
        own,
        '0.0 GiB free below /proc',
      ])
    } finally {
      await rm(dataDir, { recursive: true })
    }
  },
)
