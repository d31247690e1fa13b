import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import { spawnSimnet } from './child.ts'
import { openSmtp } from './smtp-client.ts'
import { makeWorld } from './world.ts'

// Servers and processes start slowly on a machine that is busy with other tests.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

const MAIN = new URL('main.ts', import.meta.url).pathname

test('the program prints its settings on one line; it ends on SIGTERM and at the end of its input', async () => {
  for (const leave of ['SIGTERM', 'end of input'] as const) {
    const child = spawn(process.execPath, [MAIN, '--seed', '5'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const settings = JSON.parse(line.toString()) as Record<string, string>
    expect(settings['DNS_SERVERS']).toMatch(/^127\.0\.0\.1:[0-9]+$/)
    const left = once(child, 'exit')
    if (leave === 'SIGTERM') child.kill('SIGTERM')
    else child.stdin.end()
    expect((await left)[0]).toBe(0)
  }
})

test('a child process reports what its servers received', async () => {
  await using simnet = await spawnSimnet({ seed: 5 })
  const address = makeWorld({ seed: 5 }).addressOf('gmail-smtp-in.l.google.com') ?? ''
  using client = await openSmtp(address, Number(simnet.settings['SMTP_PORT']))
  await client.say('EHLO a.example', 'MAIL FROM:<a@a.example>', 'RCPT TO:<nobody@gmail.com>')
  const seen = (await simnet.counters()).smtp['gmail-smtp-in.l.google.com']
  expect(seen).toMatchObject({ sessions: 1, open: 1 })
  expect(seen?.rcptTimes).toHaveLength(1)
  expect(await simnet.totals()).toEqual({ probes: 1, open: 1, bought: 0 })
})

test('the program ends with its usage for an unknown argument', async () => {
  const child = spawn(process.execPath, [MAIN, '--seed', 'x'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  child.stderr.on('data', (chunk) => {
    text += String(chunk)
  })
  const [code] = (await once(child, 'close')) as [number]
  expect(code).not.toBe(0)
  expect(text).toContain('--seed is "x"')
})
