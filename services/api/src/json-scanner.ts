import {
  createLiteralToken,
  createNumberToken,
  createStringToken,
  FAULTY,
  type JsonToken,
} from './json-tokens.ts'

/** Limits of a JSON text. */
export interface JsonBounds {
  /** Nesting depth of arrays and objects. */
  readonly depth: number
  /** Keys of objects and items of arrays, together. */
  readonly keys: number
}

/** Why a JSON text is refused. */
export type JsonFault = 'malformed' | 'too_deep' | 'too_many_keys'

/** A part of a JSON text. */
export type JsonPart = 'key' | 'object' | 'array' | 'scalar'

/** Receives the parts of a text up to a nesting `depth`. */
export interface JsonWatch {
  readonly depth: number
  /** `at` is the position of the part's first character in the last piece of text. */
  begin(part: JsonPart, depth: number, at: number): void
  /** `at` is the position after the part's last character in the last piece of text. */
  end(part: JsonPart, depth: number, at: number): void
}

/** Validates a JSON text that arrives in pieces, without storing it. */
export interface JsonScanner {
  push(text: string): JsonFault | undefined
  /** Ends the text. */
  end(): JsonFault | undefined
  /** Restarts the count of keys and items. */
  recount(): void
}

const NOT_WATCHED: JsonWatch = { depth: -1, begin: () => {}, end: () => {} }

/** Why a text is refused; undefined if it is valid and within the limits. */
export function faultOfJson(text: string, bounds: JsonBounds): JsonFault | undefined {
  const scanner = createJsonScanner(bounds)
  return scanner.push(text) ?? scanner.end()
}

/**
 * Quick test: too few brackets and commas to exceed the limits, whatever the text is. True for
 * nearly every body, and much cheaper than a scan.
 */
export function isSurelyWithin(text: string, { depth, keys }: JsonBounds): boolean {
  let brackets = 0
  let commas = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === OPENING.object || code === OPENING.array) brackets += 1
    else if (code === COMMA) commas += 1
  }
  return brackets <= depth && brackets + commas <= keys
}

/**
 * Makes a scanner of one JSON text (RFC 8259). Its memory is limited by `bounds.depth`; a fault is
 * reported with the piece of text that contains it, and nothing may be pushed after it.
 */
export function createJsonScanner(bounds: JsonBounds, watch = NOT_WATCHED): JsonScanner {
  const nesting = createNesting(bounds, watch)
  const tokens = [createStringToken(), createLiteralToken(), createNumberToken()] as const
  let token: JsonToken | undefined
  let part: 'key' | 'scalar' = 'scalar'

  function inToken(open: JsonToken, text: string, from: number): number {
    const at = open.take(text, from)
    if (at !== FAULTY && open.isOver) {
      token = undefined
      nesting.end(part, at)
    }
    return at
  }

  function beginToken(char: string, at: number): JsonFault | undefined {
    token = tokens.find((kind) => kind.begin(char))
    if (token === undefined) return 'malformed'
    part = token === tokens[0] && nesting.wantsKey() ? 'key' : 'scalar'
    return nesting.begin(part, at)
  }

  return {
    push: (text) => {
      for (let at = 0; at < text.length;) {
        if (token !== undefined) {
          at = inToken(token, text, at)
          if (at === FAULTY) return 'malformed'
          continue
        }
        const code = text.charCodeAt(at)
        const met = isBlank(code) ? undefined : nesting.punctuate(code, at)
        const fault = met === 'none' ? beginToken(text[at] ?? '', at) : met
        if (fault !== undefined) return fault
        at += 1
      }
      return undefined
    },
    end: () => {
      if (token?.endsHere() === true) nesting.end(part, 0)
      else if (token !== undefined) return 'malformed'
      return nesting.isOver() ? undefined : 'malformed'
    },
    recount: nesting.recount,
  }
}

const [COMMA, COLON] = [0x2c, 0x3a]
const OPENING = { object: 0x7b, array: 0x5b } as const
const CLOSING = { object: 0x7d, array: 0x5d } as const

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The tokens that may come next. */
type Expected =
  | 'value'
  | 'item-or-end'
  | 'key-or-end'
  | 'key'
  | 'colon'
  | 'comma-or-end'
  | 'nothing'

/** The nesting of containers at the scan position. */
interface Nesting {
  wantsKey(): boolean
  isOver(): boolean
  begin(part: JsonPart, at: number): JsonFault | undefined
  end(part: JsonPart, at: number): void
  /** Handles a bracket, comma or colon; `none` for other characters. */
  punctuate(code: number, at: number): JsonFault | 'none' | undefined
  recount(): void
}

function createNesting(bounds: JsonBounds, watch: JsonWatch): Nesting {
  const open: ('object' | 'array')[] = []
  let expected: Expected = 'value'
  let count = 0

  const wantsKey = (): boolean => expected === 'key' || expected === 'key-or-end'

  function begin(part: JsonPart, at: number): JsonFault | undefined {
    if (part !== 'key' && expected !== 'value' && expected !== 'item-or-end') return 'malformed'
    if (part === 'key' || open.at(-1) === 'array') count += 1
    if (open.length <= watch.depth) watch.begin(part, open.length, at)
    return count > bounds.keys ? 'too_many_keys' : undefined
  }

  function end(part: JsonPart, at: number): void {
    expected = part === 'key' ? 'colon' : open.length === 0 ? 'nothing' : 'comma-or-end'
    if (open.length <= watch.depth) watch.end(part, open.length, at)
  }

  function enter(part: 'object' | 'array', at: number): JsonFault | undefined {
    const fault = begin(part, at)
    if (fault !== undefined) return fault
    if (open.length >= bounds.depth) return 'too_deep'
    open.push(part)
    expected = part === 'object' ? 'key-or-end' : 'item-or-end'
    return undefined
  }

  function leave(part: 'object' | 'array', at: number): JsonFault | undefined {
    const mayEnd = expected === 'key-or-end' || expected === 'item-or-end'
    if (open.at(-1) !== part || !(mayEnd || expected === 'comma-or-end')) return 'malformed'
    open.pop()
    end(part, at + 1)
    return undefined
  }

  function pass(from: Expected, to: Expected): JsonFault | undefined {
    if (expected !== from) return 'malformed'
    expected = to
    return undefined
  }

  return {
    wantsKey,
    isOver: () => expected === 'nothing',
    begin,
    end,
    punctuate: (code, at) => {
      switch (code) {
        case OPENING.object:
          return enter('object', at)
        case OPENING.array:
          return enter('array', at)
        case CLOSING.object:
          return leave('object', at)
        case CLOSING.array:
          return leave('array', at)
        case COLON:
          return pass('colon', 'value')
        case COMMA:
          return pass('comma-or-end', open.at(-1) === 'object' ? 'key' : 'value')
        default:
          return 'none'
      }
    },
    recount: () => {
      count = 0
    },
  }
}
