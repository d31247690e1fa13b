import { describe, expect, test } from 'vitest'
import { terminalLine } from './terminal-log.ts'

const RECORD = { level: 30, time: '2026-11-22T11:46:27.123Z', pid: 7, name: 'api' }

function lineOf(fields: object, hasColors = false): string {
  return terminalLine(`${JSON.stringify({ ...RECORD, ...fields })}\n`, hasColors)
}

describe('a line on a terminal', () => {
  test('says when, who and what, without the ids that only a search needs', () => {
    const request = { request_id: 'r1', method: 'POST', route: '/v1/ip', status: 200, ms: 3.4 }
    expect(lineOf({ ...request, charged: 1, user_agent: 'curl', msg: 'request' })).toBe(
      '11:46:27 api request POST /v1/ip 200 3.4 ms charged=1\n',
    )
    expect(lineOf({ kinds: ['ip', 'email'], msg: 'ready' })).toBe(
      '11:46:27 api ready kinds=ip,email\n',
    )
  })

  test('names the level of what is no plain information', () => {
    expect(lineOf({ level: 40, msg: 'runs on as root' })).toBe(
      '11:46:27 api warn runs on as root\n',
    )
  })

  test('tells an error with its causes, and its stack where it has no code', () => {
    const stack = 'TypeError: x\n    at run (main.ts:1:1)'
    const err = { type: 'TypeError', message: 'x', stack, cause: { message: 'y' } }
    const told = lineOf({ level: 50, err, msg: 'failed' })
    expect(told).toBe('11:46:27 api error failed: x: y\n    at run (main.ts:1:1)\n')
    expect(lineOf({ level: 50, err: { ...err, code: 'EPIPE' }, msg: 'failed' })).not.toContain('at')
  })

  test('holds nothing that steers the terminal', () => {
    expect(lineOf({ host: 'a\u001b[2J\u202eb', msg: 'm\r\nn' })).toBe(
      '11:46:27 api m? n host=a?[2J?b\n',
    )
  })

  test('has colours where the terminal has them', () => {
    expect(lineOf({ level: 50, msg: 'x' }, true)).toContain('\u001b[31merror\u001b[39m')
  })

  test('is as it came where it is no record', () => {
    expect(terminalLine('plain\n', false)).toBe('plain\n')
  })
})
