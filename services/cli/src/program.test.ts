import { describe, expect, test } from 'vitest'
import { requestsOf } from './commands/look-up.ts'
import { runCli } from './program.ts'
import type { Shell } from './shell.ts'

interface Run {
  readonly status: number
  readonly out: string
  readonly err: string
}

/**
 * Runs a command without a service: commands that need one are refused before anything is opened.
 */
async function run(...words: readonly string[]): Promise<Run> {
  const said = { out: '', err: '' }
  const shell: Shell = {
    environment: { DATA_DIR: '/nowhere' },
    write: (text) => void (said.out += text),
    tell: (text) => void (said.err += text),
    redraws: false,
    hasColors: false,
    stop: new AbortController().signal,
    fail: () => {},
  }
  const status = await runCli(words, shell)
  return { status, ...said }
}

describe('the program', () => {
  test('shows help on request, with status 0', async () => {
    for (const words of [['--help'], ['account', '--help'], ['batch', 'run', '--help']]) {
      const { status, out, err } = await run(...words)
      expect([status, err]).toEqual([0, ''])
      expect(out).toContain('Usage: plumbline')
    }
  })

  test.for([
    ['no command', []],
    ['an unknown command', ['accounts']],
    ['an unknown verb', ['account', 'destroy', 'acc_1']],
    ['an unknown option', ['account', 'list', '--all']],
    ['a missing option', ['account', 'create']],
    ['an owner without address', ['account', 'create', '--email', 'nobody']],
    ['a missing argument', ['account', 'show']],
    ['an argument too many', ['account', 'show', 'a', 'b']],
    ['a plan change that changes nothing', ['plan', 'set', 'pro']],
    ['a price in cents', ['pack', 'set', 'growth', '--price-usd', '24.9']],
    ['closing without a yes', ['account', 'close', 'acc_1']],
    ['a limit of nothing', ['account', 'limits', 'acc_1', '--calls-burst', '0']],
    ['no credits', ['account', 'grant', 'acc_1', '--credits', '0']],
    ['an actor without a name', ['key', 'create', 'acc_1', '--mode', 'live', '--as', ' ']],
    [
      'an actor who turns text around',
      ['account', 'plan', 'a', '--plan', 'pro', '--as', '\u202eadA'],
    ],
    ['usage by what is not counted', ['usage', '--by', 'day,colour']],
    ['a page of no entries', ['ledger', '--limit', '0']],
    ['an unknown mode', ['key', 'create', 'acc_1', '--mode', 'dry']],
    ['an unknown product', ['lookup', 'fax', '1']],
    ['a companion that the product has not', ['lookup', 'email', 'a@b.example', '--ip', '8.8.8.8']],
    ['a batch without output', ['batch', 'run', 'x.csv', '--product', 'email']],
    [
      'more days than the service keeps a batch',
      ['batch', 'run', 'x', '--product', 'ip', '--out', 'y', '--retention-days', '366'],
    ],
    ['values beside a file of them', ['erase', '--file', 'x', '--email', 'ada@example.com']],
    ['addresses beside a file', ['erase', '--file', 'x', '--include-addresses']],
    ['an unknown verdict', ['batch', 'results', 'bat_1', '--out', 'y', '--only', 'risky,odd']],
    ['a row that is none', ['batch', 'results', 'bat_1', '--out', 'y', '--after', '-1']],
    [
      'an unknown format',
      ['batch', 'run', 'x', '--product', 'ip', '--out', 'y', '--format', 'pdf'],
    ],
  ] as const)('refuses %s with status 2 on standard error', async ([, words]) => {
    const { status, out, err } = await run(...words)
    expect([status, out]).toEqual([2, ''])
    expect(err).not.toBe('')
  })

  test('says in one sentence that there is no service', async () => {
    for (const words of [
      ['account', 'list', '--json'],
      ['key', 'list', 'acc_1', '--json'],
      ['lookup', 'email', 'a@b.example', '--key', 'k', '--json'],
      ['batch', 'list', '--key', 'k', '--json'],
    ]) {
      const { status, out, err } = await run(...words)
      expect([status, out]).toEqual([1, ''])
      expect(err).toMatch(/^No service runs on \/nowhere [^\n]+\n$/)
    }
  })
})

describe('requests of a lookup', () => {
  test('have the other values that the product accepts, and explain', () => {
    expect(
      requestsOf('contact-intel', ['a@b.example'], {
        email: 'other@b.example',
        ip: '8.8.8.8',
        explain: true,
      }),
    ).toEqual([{ email: 'a@b.example', ip: '8.8.8.8', explain: true }])
    expect(requestsOf('domain', ['a.example', 'b.example'], { explain: false })).toEqual([
      { domain: 'a.example' },
      { domain: 'b.example' },
    ])
  })

  test('refuse other values with several subjects', () => {
    const options = { phone: '+442079460123', explain: false }
    expect(() => requestsOf('deliverability', ['a@b.example', 'c@d.example'], options)).toThrow(
      '--phone belongs to one subject; 2 were given.',
    )
  })
})
