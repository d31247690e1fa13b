import type { BatchRecord } from '@plumbline/contract/batch-request'
import { Problem } from '@plumbline/contract/problem'
import { unknownFields } from '@plumbline/contract/requests'
import {
  JSON_FIELDS,
  readBatchRecord,
  readJsonOptions,
  type BatchOptions,
} from './batch-options.ts'
import { faulty } from './body.ts'
import {
  createJsonScanner,
  type JsonBounds,
  type JsonPart,
  type JsonWatch,
} from './json-scanner.ts'

/** Limits of a batch sent as JSON. */
export interface BatchBodyBounds {
  readonly records: number
  /** Characters of one record, as sent; a longer one is passed on unread. */
  readonly recordChars: number
  /** Nesting depth of the whole body; keys and items of one record. */
  readonly json: JsonBounds
}

/** Receives the parts of a body. */
export interface BatchBodyListener {
  /** The records begin; `start` is the value of that field if it came before them. */
  records(start: unknown): void
  record(record: BatchRecord): void
  /** A piece of a record that is too long to be read; undefined if it ends. */
  longRecord(piece: string | undefined): void
}

/** Parses a batch sent as JSON whose text arrives in pieces. */
export interface BatchBodyReader {
  /** @throws Problem `bad_request` that names the first fault */
  push(text: string): void
  /** @throws Problem `bad_request` */
  end(): BatchOptions
}

/** Characters of the value of a field other than `records`. */
const FIELD_MAX_CHARS = 16_384

/** The part of the text that is buffered until its end. */
type Kept = 'nothing' | 'key' | 'field' | 'record' | 'long record'

/**
 * Makes a parser of the body of `POST /v1/batches` as JSON (decision 31). Its memory is limited to
 * one piece of text and one record, however large the body is.
 */
export function createBatchBodyReader(
  bounds: BatchBodyBounds,
  listener: BatchBodyListener,
): BatchBodyReader {
  const members = createMembers(bounds, listener, () => scanner.recount())
  const scanner = createJsonScanner(bounds.json, members.watch)
  return {
    push: (text) => {
      members.next(text)
      const fault = scanner.push(text)
      if (fault !== undefined) throw faulty(fault, bounds.json)
      members.holdRest()
    },
    end: () => {
      const fault = scanner.end()
      if (fault !== undefined) throw faulty(fault, bounds.json)
      return members.options()
    },
  }
}

/** Parser of the body's members. */
interface Members {
  readonly watch: JsonWatch
  /** Receives a piece of text. */
  next(text: string): void
  /** Ends a piece: a value that continues in the next one is buffered up to its limit. */
  holdRest(): void
  /**
   * The options in the whole body.
   *
   * @throws Problem `bad_request`
   */
  options(): BatchOptions
}

function createMembers(
  bounds: BatchBodyBounds,
  listener: BatchBodyListener,
  recount: () => void,
): Members {
  const fields = new Map<string, unknown>()
  const held = createHeldText()
  let field = ''
  let kept: Kept = 'nothing'
  let count = 0

  function keep(what: Kept, at: number): void {
    kept = what
    held.begin(at)
  }

  function beginMember(part: JsonPart, at: number): void {
    if (part === 'key') return keep('key', at)
    if (field !== 'records') return keep('field', at)
    if (part !== 'array') throw refused('`records` must be a list of objects.')
    fields.set(field, true)
    listener.records(fields.get('start'))
  }

  function endMember(at: number): void {
    if (kept === 'key') field = newField(held.take(at), fields)
    else if (kept === 'field') fields.set(field, JSON.parse(held.take(at)))
    kept = 'nothing'
  }

  function beginRecord(at: number): void {
    if (count === bounds.records) throw tooManyRecords(bounds.records)
    recount()
    keep('record', at)
  }

  function endRecord(at: number): void {
    const text = held.take(at)
    // By its length alone, so that a body has the same result however it is cut into pieces.
    if (kept === 'long record' || text.length > bounds.recordChars) {
      listener.longRecord(text)
      listener.longRecord(undefined)
    } else {
      listener.record(readBatchRecord(JSON.parse(text), count))
    }
    count += 1
    kept = 'nothing'
  }

  return {
    watch: {
      depth: 2,
      begin: (part, depth, at) => {
        if (depth === 0) refuseOther(part)
        else if (depth === 1) beginMember(part, at)
        else if (field === 'records') beginRecord(at)
      },
      end: (_part, depth, at) => {
        if (depth === 1) endMember(at)
        else if (depth === 2 && field === 'records') endRecord(at)
      },
    },
    next: held.next,
    holdRest: () => {
      if (kept === 'nothing') return
      const length = held.hold()
      if (kept === 'record' && length > bounds.recordChars) kept = 'long record'
      if (kept === 'long record') listener.longRecord(held.drain())
      else if (kept !== 'record' && length > FIELD_MAX_CHARS) throw longField(kept, field)
    },
    options: () => optionsIn(fields, count),
  }
}

/**
 * The name of the next field.
 *
 * @throws Problem if it is unknown or a duplicate
 */
function newField(text: string, fields: ReadonlyMap<string, unknown>): string {
  const name: unknown = JSON.parse(text)
  const field = typeof name === 'string' ? name : ''
  if (!JSON_FIELDS.includes(field)) throw refused(unknownFields([field], JSON_FIELDS))
  if (fields.has(field)) throw refused(`\`${field}\` came more than once; send it once.`)
  return field
}

function optionsIn(fields: ReadonlyMap<string, unknown>, count: number): BatchOptions {
  const { records, ...rest } = Object.fromEntries(fields)
  const options = readJsonOptions(rest)
  if (records === undefined) {
    throw refused(`\`records\` is missing; the fields taken here are ${JSON_FIELDS.join(', ')}.`)
  }
  if (count === 0) throw refused('`records` must hold at least one record.')
  return options
}

/** Text from some start, across pieces. */
interface HeldText {
  next(piece: string): void
  begin(at: number): void
  /** Takes the held text, up to a position in the last piece. */
  take(at: number): string
  /** Holds the rest of the piece; returns how many characters are held. */
  hold(): number
  /** Takes the text held by `hold`. */
  drain(): string
}

function createHeldText(): HeldText {
  let piece = ''
  let from = 0
  let before = ''
  const drain = (): string => {
    const text = before
    before = ''
    return text
  }
  return {
    next: (text) => {
      piece = text
      from = 0
    },
    begin: (at) => {
      before = ''
      from = at
    },
    take: (at) => drain() + piece.slice(from, at),
    hold: () => {
      before += piece.slice(from)
      from = piece.length
      return before.length
    },
    drain,
  }
}

function tooManyRecords(most: number): Problem {
  return refused(`\`records\` holds more; at most ${most} may be sent as JSON, more as a file.`)
}

function refuseOther(part: JsonPart): void {
  if (part === 'object') return
  throw refused('The body must be a JSON object with `product` and `records`.')
}

function longField(kept: 'key' | 'field', field: string): Problem {
  const named = kept === 'key' ? 'The name of a field' : `\`${field}\``
  return refused(`${named} is longer than ${FIELD_MAX_CHARS} characters; send less.`)
}

function refused(message: string): Problem {
  return new Problem('bad_request', message)
}
