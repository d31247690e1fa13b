import { fork, spawnSync } from 'node:child_process'
import { isCi } from '@plumbline/testkit/ci'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { NamespaceReport } from '@plumbline/testkit/namespace-child'

// The test listens on every address of the internet, so that it sees all outgoing connections.

const CHILD = fileURLToPath(
  new URL('../../packages/testkit/src/namespace-child.ts', import.meta.url),
)
const NEEDED = 'network namespaces: root, unshare (util-linux) and ip (iproute2)'
const canUnshare = spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0
const isRequired = isCi()

/**
 * Blocks to which no connection can be made: multicast, broadcast, and addresses that need an
 * interface.
 */
const KERNEL_REFUSES = ['224.0.0.0/4', '255.255.255.255/32', 'fe80::/10', 'ff00::/8']

test.runIf(isRequired)('network namespaces work where they are required', () => {
  expect(canUnshare).toBe(true)
})

// Creating a network namespace needs root; without one, the addresses would be the machine's own.
test.skipIf(!canUnshare)(
  `no connection reaches a listener at a special address, by any path (${NEEDED})`,
  async () => {
    const report = await runInNamespace()
    expect(report.unreachable.filter((cidr) => !KERNEL_REFUSES.includes(cidr))).toEqual([])
    expect(report.reachable.length).toBeGreaterThan(40)
    expect(report.attempts).toBeGreaterThan(5_000)
    expect(report.received).toEqual([])
    expect(report.control).toEqual(['dns', 'http', 'page', 'redirect', 'smtp', 'whois'])
  },
  90_000,
)

async function runInNamespace(): Promise<NamespaceReport> {
  const child = fork(CHILD, [], {
    execPath: 'unshare',
    execArgv: ['-n', process.execPath, '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [message]: unknown[] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]: unknown[]) => {
      throw new Error(`the process in the namespace ended with ${String(code)}`)
    }),
  ])
  // Safe because our own program sends one message of this shape.
  return message as NamespaceReport
}
