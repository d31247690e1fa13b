import { StringDecoder } from 'node:string_decoder'
import { IntakeError } from './intake-error.ts'
import type { XmlAttributes } from './xml-attributes.ts'
import { createXmlTokenizer } from './xml-tokens.ts'
import { damaged } from './zip-archive.ts'

/** Events of an XML document; names are without prefix. */
export interface XmlListener {
  /** An element begins; `attributes` are invalid once the next tag is read. */
  open(name: string, attributes: XmlAttributes): void
  close(name: string): void
  text?(text: string): void
}

/** Parses an XML document that arrives in pieces. */
export interface XmlReader {
  /** @throws IntakeError `unprocessable` */
  push(chunk: Buffer): void
  end(): void
}

/** Nesting depth of elements at most: workbooks have ten. */
const MAX_DEPTH = 64

/**
 * Bytes of one cell, tag or comment at most: a cell has up to 32,767 characters, each up to ten
 * bytes as an entity.
 */
const MAX_PIECE_BYTES = 1024 * 1024

/**
 * A parser with bounded memory. Document types are refused, so there are no entities but the five
 * predefined ones: nothing can expand or refer to another file.
 */
export function createXmlReader(listener: XmlListener): XmlReader {
  const onText = listener.text ?? (() => {})
  /** Decoder of a document in UTF-16; undefined for UTF-8. */
  let wide: StringDecoder | undefined
  let isStart = true
  let depth = 0
  let textChars = 0
  const tokens = createXmlTokenizer({
    open: (name, attributes) => {
      textChars = 0
      depth += 1
      if (depth > MAX_DEPTH) throw damaged()
      listener.open(name, attributes)
    },
    close: (name) => {
      textChars = 0
      depth -= 1
      listener.close(name)
    },
    text: (text) => {
      textChars += text.length
      onText(text)
    },
    doctype: () => {
      throw new IntakeError(
        'unprocessable',
        'The workbook holds a document type, which no workbook has; save it again as .xlsx.',
      )
    },
    fault: (what) => {
      throw damaged(new Error(`the XML has ${what}`))
    },
  })
  return {
    push: (chunk) => {
      if (isStart && isUtf16(chunk)) wide = new StringDecoder('utf16le')
      isStart = false
      tokens.push(wide === undefined ? chunk : Buffer.from(wide.write(chunk)))
      refuseLongCell(textChars + tokens.openBytes)
    },
    end: tokens.end,
  }
}

/**
 * Refuses a cell of this many characters or bytes, which may be in several texts.
 *
 * @throws IntakeError `payload_too_large`
 */
export function refuseLongCell(size: number): void {
  if (size <= MAX_PIECE_BYTES) return
  throw new IntakeError('payload_too_large', 'A cell of the workbook is over 1 MiB; split it.')
}

function isUtf16(start: Buffer): boolean {
  return start[0] === 0xff && start[1] === 0xfe
}
