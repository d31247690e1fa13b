import { createPackedTexts } from './packed-texts.ts'
import { unescapedText } from './xlsx-text.ts'
import { createXmlReader, refuseLongCell } from './xml-reader.ts'

/** The shared strings of a workbook, read as far as they are needed. */
export interface SharedStrings extends AsyncDisposable {
  /** Reads on until this many strings are loaded, or the end. */
  ensure(count: number): Promise<void>
  /** Empty if the workbook has no such string. */
  get(index: number): string
}

/** Reads `sharedStrings.xml`. Source: ECMA-376, part 1, section 18.4.9. */
export function createSharedStrings(
  chunks: AsyncGenerator<Buffer> | undefined,
  fileBytes: number,
): SharedStrings {
  const texts = createPackedTexts(fileBytes)
  let pieces = ''
  let isText = false
  let phonetic = 0
  const reader = createXmlReader({
    open: (name) => {
      if (name === 'si') pieces = ''
      else if (name === 'rPh') phonetic += 1
      else isText = name === 't' && phonetic === 0
    },
    close: (name) => {
      if (name === 'si') texts.add(unescapedText(pieces))
      else if (name === 'rPh') phonetic -= 1
      isText = false
    },
    text: (text) => {
      if (!isText) return
      pieces += text
      refuseLongCell(pieces.length)
    },
  })
  let left = chunks
  return {
    ensure: async (count) => {
      while (left !== undefined && texts.count < count) {
        const next = await left.next()
        if (next.done === true) {
          left = undefined
          reader.end()
        } else {
          reader.push(next.value)
        }
      }
    },
    get: (index) => texts.get(index) ?? '',
    [Symbol.asyncDispose]: async () => void (await chunks?.return(undefined)),
  }
}
