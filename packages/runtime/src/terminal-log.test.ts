import { describe, expect, test } from 'vitest'
import { terminalLine } from './terminal-log.ts'

const RECORD = { level: 30, time: '2026-11-22T11:46:27.123Z', pid: 7, name: 'api' }

function lineOf(fields: object, hasColors = false): string {
  return terminalLine(`${JSON.stringify({ ...RECORD, ...fields })}\n`, hasColors)
}

describe('a line on a terminal', () => {
  test('has time, program and message, without the ids that only a search needs', () => {
    const request = { request_id: 'r1', method: 'POST', route: '/v1/ip', status: 200, ms: 3.4 }
    expect(lineOf({ ...request, charged: 1, user_agent: 'curl', msg: 'request' })).toBe(
      '11:46:27 api request POST /v1/ip 200 3.4 ms charged=1\n',
    )
    expect(lineOf({ kinds: ['ip', 'email'], msg: 'ready' })).toBe(
      '11:46:27 api ready kinds=ip,email\n',
    )
  })

  test('names the level of a message above info', () => {
    expect(lineOf({ level: 40, msg: 'runs on as root' })).toBe(
      '11:46:27 api warn runs on as root\n',
    )
  })

  test('shows an error with its causes, and its stack if it has no code', () => {
    const stack = 'TypeError: x\n    at run (main.ts:1:1)'
    const err = { type: 'TypeError', message: 'x', stack, cause: { message: 'y' } }
    const told = lineOf({ level: 50, err, msg: 'failed' })
    expect(told).toBe('11:46:27 api error failed: x: y\n    at run (main.ts:1:1)\n')
    expect(lineOf({ level: 50, err: { ...err, code: 'EPIPE' }, msg: 'failed' })).not.toContain('at')
  })

  test('contains no control characters', () => {
    expect(lineOf({ host: 'a\u001b[2J\u202eb', msg: 'm\r\nn' })).toBe(
      '11:46:27 api m? n host=a?[2J?b\n',
    )
  })

  test('has colours if the terminal supports them', () => {
    expect(lineOf({ level: 50, msg: 'x' }, true)).toContain('\u001b[31merror\u001b[39m')
  })

  test('is unchanged if it is not a JSON record', () => {
    expect(terminalLine('plain\n', false)).toBe('plain\n')
  })
})
