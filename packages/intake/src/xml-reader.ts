import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import { IntakeError } from './intake-error.ts'
import { damaged } from './zip-archive.ts'

/** What is told of an XML document; names are without their prefix. */
export interface XmlListener {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(name: string): void
  text?(text: string): void
}

/** Reads an XML document that comes in pieces. */
export interface XmlReader {
  /** @throws IntakeError `unprocessable` */
  push(chunk: Buffer): void
  end(): void
}

/** Elements within one another: workbooks have ten. */
const MAX_DEPTH = 64

/** Characters of one text, tag or comment: a cell has 32,767 at most, each of them ten as an entity. */
const MAX_PIECE_CHARS = 1024 * 1024

/**
 * A reader of bounded memory. No document type is taken, so there are no entities but the five of XML: what
 * they stand for cannot grow or name another file.
 */
export function createXmlReader(listener: XmlListener): XmlReader {
  const parser = new SaxesParser<{ position: false; xmlns: false }>({
    position: false,
    xmlns: false,
  })
  const names = new Map<string, string>()
  let text: StringDecoder | undefined
  let depth = 0
  let pieceChars = 0
  const localName = (name: string): string => {
    const known = names.get(name)
    if (known !== undefined) return known
    const local = name.slice(name.indexOf(':') + 1)
    if (names.size < 1_000) names.set(name, local)
    return local
  }
  parser.on('error', (error) => {
    throw damaged(error)
  })
  parser.on('doctype', () => {
    throw new IntakeError(
      'unprocessable',
      'The workbook holds a document type, which no workbook has; save it again as .xlsx.',
    )
  })
  parser.on('opentag', ({ name, attributes }) => {
    pieceChars = 0
    depth += 1
    if (depth > MAX_DEPTH) throw damaged(undefined)
    listener.open(localName(name), attributes)
  })
  parser.on('closetag', ({ name }) => {
    pieceChars = 0
    depth -= 1
    listener.close(localName(name))
  })
  const { text: onText } = listener
  if (onText !== undefined) {
    parser.on('text', onText)
    parser.on('cdata', onText)
  }
  const write = (piece: string): void => {
    pieceChars += piece.length
    parser.write(piece)
    if (pieceChars > MAX_PIECE_CHARS) {
      throw new IntakeError('payload_too_large', 'A cell of the workbook is over 1 MiB; split it.')
    }
  }
  return {
    push: (chunk) => {
      text ??= new StringDecoder(isUtf16(chunk) ? 'utf16le' : 'utf8')
      write(text.write(chunk))
    },
    end: () => {
      write(text?.end() ?? '')
      parser.close()
    },
  }
}

function isUtf16(start: Buffer): boolean {
  return start[0] === 0xff && start[1] === 0xfe
}

/** The value of an attribute, whatever its prefix. */
export function attributeOf(
  attributes: Readonly<Record<string, string>>,
  name: string,
): string | undefined {
  const own = attributes[name]
  if (own !== undefined) return own
  // Prefixes of a namespace are the writer's choice, as `r:id`.
  const key = Object.keys(attributes).find((each) => each.slice(each.indexOf(':') + 1) === name)
  return key === undefined ? undefined : attributes[key]
}
