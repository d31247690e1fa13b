import { styleText } from 'node:util'

/** Fields that are left out on a terminal: they are for searching the JSON lines. */
const HIDDEN: ReadonlySet<string> = new Set([
  'level',
  'time',
  'pid',
  'name',
  'msg',
  'err',
  'request_id',
  'key_id',
  'address',
  'user_agent',
])

/** Fields that are shown without their name. */
const BARE: ReadonlySet<string> = new Set(['method', 'route', 'status', 'program'])

/** Maximum number of characters of one field. */
const VALUE_CHARS = 120

type Color = 'red' | 'yellow' | 'gray'

/** pino's levels; each one stands for all values up to the next. */
const LEVELS: readonly { readonly from: number; readonly word: string; readonly color: Color }[] = [
  { from: 50, word: 'error', color: 'red' },
  { from: 40, word: 'warn', color: 'yellow' },
  { from: 30, word: 'info', color: 'gray' },
  { from: 0, word: 'debug', color: 'gray' },
]

/**
 * A log line of pino as a short line for a person: time of day, program, level, message and the
 * fields that matter. An error follows with its causes, and with its stack if it has no code.
 */
export function terminalLine(json: string, hasColors: boolean): string {
  const record = recordOf(json)
  if (record === undefined) return json
  const number = Number(record['level'])
  const level = LEVELS.find(({ from }) => number >= from) ?? { word: 'log', color: 'gray' as const }
  const paint = (color: Color, text: string): string =>
    hasColors ? styleText(color, text, { validateStream: false }) : text
  const time = String(record['time']).slice(11, 19)
  const head = paint('gray', `${time} ${String(record['name'])}`)
  const fields = fieldsOf(record).join(' ')
  const isInfo = number >= 30 && number < 40
  const words = [
    head,
    ...(isInfo ? [] : [paint(level.color, level.word)]),
    printable(typeof record['msg'] === 'string' ? record['msg'] : ''),
    ...(fields === '' ? [] : [paint('gray', fields)]),
  ]
  return `${words.join(' ')}${faultText(record['err'], number)}\n`
}

function recordOf(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function fieldsOf(record: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(record).flatMap(([name, value]) => {
    if (HIDDEN.has(name) || value === null || value === undefined) return []
    const text = printable(textOf(value))
    const short = text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}...` : text
    if (name === 'ms') return [`${short} ms`]
    return [BARE.has(name) ? short : `${name}=${short.includes(' ') ? `"${short}"` : short}`]
  })
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The text of an error as `faultOf` shows it. */
function faultText(err: unknown, level: number): string {
  const said: string[] = []
  for (let at = err; typeof at === 'object' && at !== null; at = Reflect.get(at, 'cause')) {
    const message: unknown = Reflect.get(at, 'message')
    if (typeof message === 'string' && message !== '') said.push(printable(message))
  }
  if (typeof err !== 'object' || err === null || said.length === 0) return ''
  const stack: unknown = Reflect.get(err, 'stack')
  const isBug = level >= 50 && Reflect.get(err, 'code') === undefined && typeof stack === 'string'
  const frames = isBug ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : []
  return [`: ${said.join(': ')}`, ...frames.map(printable)].join('\n')
}

/** Escapes characters that could control the terminal or change the text direction. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => (char === '\n' ? ' ' : '?'))
}
