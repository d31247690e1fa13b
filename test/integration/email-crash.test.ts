import { setTimeout as wait } from 'node:timers/promises'
import { backends } from '@plumbline/testkit/backends'
import { readLines, untilBatch } from '@plumbline/testkit/batches'
import { soakSize } from '@plumbline/testkit/soak'
import { expect, test } from 'vitest'
import type { SimnetProcess } from '../simnet/child.ts'
import { openEmailService, submit } from './email-service.ts'

// Real workers are killed while they probe mail servers that log all commands.

test.concurrent.each(backends())(
  'kill -9 of a worker repeats no more probes than were in flight on $name',
  async (backend) => {
    const kills = soakSize(3, 1)
    const domains = 4
    await using harness = await openEmailService(
      backend,
      'kill',
      1,
      { SMTP_RECIPIENTS_PER_MINUTE: '1000000', SMTP_CONNECTIONS_PER_HOST: String(CONNECTIONS) },
      50,
    )
    const { service, simnet, caller } = harness
    const addresses = Array.from({ length: ADDRESSES }, (_, at) => {
      return `user${Math.floor(at / domains)}@kill${at % domains}.example`
    })
    const id = await submit(caller, addresses)
    const worker = service.workers[0]
    let inFlight = 0
    for (let kill = 1; kill <= kills; kill++) {
      await untilProbed(simnet, (addresses.length * kill) / (kills + 2))
      // Stopped, so that the count is that at the kill.
      process.kill(worker?.process.pid ?? Number.NaN, 'SIGSTOP')
      inFlight += (await simnet.totals()).open * PER_TRANSACTION
      await worker?.kill('SIGKILL')
      await worker?.restart()
    }
    await untilBatch(caller, id)
    const lines = await readLines(caller, id)
    expect(lines.filter(({ status }) => status === 'error')).toEqual([])
    const probes = await simnet.recipients()
    expect(addresses.filter((address) => !probes.has(address))).toEqual([])
    const repeats = addresses.reduce((sum, address) => sum + (probes.get(address) ?? 0) - 1, 0)
    expect(inFlight).toBeLessThan(addresses.length / 2)
    expect(repeats).toBeLessThanOrEqual(inFlight)
  },
)

/** Addresses, and connections: few enough that less than half of the addresses are in flight at the kills. */
const [ADDRESSES, CONNECTIONS] = [soakSize(6_000, 1_200), soakSize(20, 4)]
/** Recipients that one transaction names at most; a connection has one transaction in flight. */
const PER_TRANSACTION = 20

async function untilProbed(simnet: SimnetProcess, count: number): Promise<void> {
  const signal = AbortSignal.timeout(300_000)
  for (;;) {
    signal.throwIfAborted()
    if ((await simnet.totals()).probes >= count) return
    await wait(50)
  }
}
