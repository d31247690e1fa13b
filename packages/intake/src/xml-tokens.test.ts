import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { describe, expect, test } from 'vitest'
import { createXmlTokenizer } from './xml-tokens.ts'

/** An event of a reader; consecutive texts are joined into one. */
type Event = readonly ['open', string, Record<string, string>] | readonly ['close' | 'text', string]

function localOf(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

function joined(events: readonly Event[]): Event[] {
  const all: Event[] = []
  for (const event of events) {
    const last = all.at(-1)
    if (event[0] === 'text' && last?.[0] === 'text')
      all[all.length - 1] = ['text', last[1] + event[1]]
    else if (event[0] !== 'text' || event[1] !== '') all.push(event)
  }
  return all
}

/** Events of our own reader; throws if the document is not well-formed. */
function ours(document: Buffer, pieceBytes: number): Event[] {
  const events: Event[] = []
  const tokens = createXmlTokenizer({
    open: (name, attributes) => events.push(['open', name, { ...attributes.toRecord() }]),
    close: (name) => events.push(['close', name]),
    text: (text) => events.push(['text', text]),
    doctype: () => {
      throw new Error('document type')
    },
    fault: (what) => {
      throw new Error(what)
    },
  })
  for (let at = 0; at < document.length; at += pieceBytes) {
    tokens.push(document.subarray(at, at + pieceBytes))
  }
  tokens.end()
  return joined(events)
}

/** Events of an independent reader of whole documents. */
function theirs(document: string): Event[] {
  const events: Event[] = []
  const parser = new SaxesParser({ position: false })
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }) => {
    events.push(['open', localOf(name), { ...(attributes as Record<string, string>) }])
  })
  parser.on('closetag', ({ name }) => events.push(['close', localOf(name)]))
  parser.on('text', (text) => events.push(['text', text]))
  parser.on('cdata', (text) => events.push(['text', text]))
  parser.write(document).close()
  // Outside of the root there are only blanks, which are not reported.
  let depth = 0
  return joined(
    events.filter(([kind]) => {
      if (kind === 'open') depth += 1
      if (kind === 'close') depth -= 1
      return kind !== 'text' || depth > 0
    }),
  )
}

const blank = fc.constantFrom('', ' ', '\n', '\r\n', '\t ', '\r')
const gap = fc.constantFrom(' ', '\n', '\r\n', '\t', '  ')
const name = fc.constantFrom(
  'c',
  'v',
  'row',
  'si',
  'x:t',
  'x14ac:dyDescent',
  'é',
  '_a-1.b',
  'mc:Choice',
)
const piece = fc.oneof(
  fc.constantFrom('&amp;', '&lt;', '&gt;', '&quot;', '&apos;', '&#13;', '&#x1F600;', '&#233;'),
  fc.constantFrom(
    'ü',
    'é',
    '😀',
    'م',
    '中文',
    '\ud7ff',
    '\u0085',
    '\u2028',
    ']]',
    ']',
    '-',
    '/',
    '=',
    '?',
  ),
  fc.constantFrom('a', '007', ' ', '\n', '\r\n', '\r', '\t', '_x000D_', "'", '"', '>'),
)
const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''))
const attribute = fc
  .record({ name, left: blank, right: blank, text, quote: fc.constantFrom('"', "'"), gap })
  .map((own) => ({
    name: own.name,
    xml: `${own.gap}${own.name}${own.left}=${own.right}${own.quote}${own.text.replaceAll(own.quote, '')}${own.quote}`,
  }))
const attributes = fc
  .uniqueArray(attribute, { maxLength: 4, selector: (own) => own.name })
  .map((all) => all.map(({ xml }) => xml).join(''))
const aside = fc.oneof(
  text.map((inner) => `<!--${inner.replaceAll('-', '').replaceAll('&', '')}-->`),
  text.map((inner) => `<![CDATA[${inner.replaceAll(']]>', '')}]]>`),
  fc.constant('<?mso-application progid="Excel.Sheet"?>'),
)
const { element } = fc.letrec<{ element: string }>((tie) => ({
  element: fc
    .record({
      name,
      attributes,
      blank,
      inner: fc.array(fc.oneof({ depthSize: 'small' }, text, aside, tie('element')), {
        maxLength: 4,
      }),
      isEmpty: fc.boolean(),
    })
    .map((own) =>
      own.isEmpty
        ? `<${own.name}${own.attributes}${own.blank}/>`
        : `<${own.name}${own.attributes}${own.blank}>${own.inner.join('')}</${own.name}${own.blank}>`,
    ),
}))
const head = fc.constantFrom(
  '',
  '\ufeff',
  '<?xml version="1.0" encoding="UTF-8"?>\r\n',
  '<!-- a -->\n',
)
const whole = fc
  .record({ head, element, tail: fc.constantFrom('', '\n', '\r\n<!-- b -->', ' ') })
  .map(({ head: first, element: root, tail }) => `${first}${root}${tail}`)
  // The other parser refuses `]]>` in text, as the specification requires.
  .filter((document) => !/\]\]>/.test(document.replaceAll(/<!\[CDATA\[[^]*?\]\]>/g, '')))

describe('an XML document', () => {
  test('is read as another reader reads it, however it is cut', () => {
    fc.assert(
      fc.property(whole, fc.integer({ min: 1, max: 40 }), (document, pieceBytes) => {
        expect(ours(Buffer.from(document), pieceBytes)).toEqual(theirs(document))
      }),
      { numRuns: 500 },
    )
  })

  test('with a fault is refused, or read as another reader reads it', () => {
    fc.assert(
      fc.property(
        whole,
        fc.nat(),
        fc.constantFrom('', '<', '>', '&', '"', '/', ' ', '=', '\u0001', '</c>'),
        fc.integer({ min: 1, max: 40 }),
        (document, place, put, pieceBytes) => {
          const at = place % document.length
          const broken = (document.slice(0, at) + put + document.slice(at + 1)).toWellFormed()
          let expected: Event[] | undefined
          try {
            expected = theirs(broken)
          } catch {
            // We may read what the other parser refuses: some documents violate only formal rules
            // of XML.
            return
          }
          expect(ours(Buffer.from(broken), pieceBytes)).toEqual(expected)
        },
      ),
      { numRuns: 500 },
    )
  })

  test.each([
    ['no element', ''],
    ['blanks alone', ' \n'],
    ['a text alone', 'abc'],
    ['no end', '<a><b></b>'],
    ['an end that is cut', '<a><b></b></a'],
    ['a tag that is cut', '<a><b c="'],
    ['a comment that never ends', '<a/><!-- b'],
    ['a literal text that never ends', '<a><![CDATA[b</a>'],
    ['another end', '<a></b>'],
    ['an end that is longer', '<a></ab>'],
    ['an end too many', '<a></a></a>'],
    ['two roots', '<a/><b/>'],
    ['a text behind the root', '<a/>b'],
    ['a name of digits', '<1/>'],
    ['no name', '< a/>'],
    ['an attribute without a value', '<a b/>'],
    ['a value without quotes', '<a b=c/>'],
    ['no blank between attributes', '<a b="c"d="e"/>'],
    ['a tag in a value', '<a b="<"/>'],
    ['a slash within a tag', '<a / b="c"/>'],
    ['an ampersand alone', '<a>&</a>'],
    ['an ampersand in front of a text', '<a>b & c;</a>'],
    ['an entity of a document', '<a>&own;</a>'],
    ['an entity of a document in a value', '<a b="&own;"/>'],
    ['an entity with a name of JavaScript', '<a>&constructor;</a>'],
    ['an entity with a name of JavaScript in a value', '<a b="&toString;"/>'],
    ['a reference to no character', '<a>&#0;</a>'],
    ['a reference beyond all characters', '<a>&#x110000;</a>'],
    ['a reference to half a character', '<a>&#xD800;</a>'],
    ['a control character', '<a>\u0008</a>'],
    ['what is no character', '<a>\uffff</a>'],
    ['markup that is none', '<a><!ELEMENT b></a>'],
    ['a document type', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'],
  ])('that has %s is refused, however it is cut', (_, document) => {
    expect(() => theirs(document.replace('<!DOCTYPE', '<!NONE'))).toThrow()
    for (const pieceBytes of [1, 3, 4_096]) {
      expect(() => ours(Buffer.from(document), pieceBytes)).toThrow()
    }
  })

  test('gives attributes by name with and without its prefix', () => {
    const seen: unknown[] = []
    const tokens = createXmlTokenizer({
      open: (_, own) =>
        seen.push(own.get('id'), own.get('r:id'), own.getLocal('id'), own.getLocal('d')),
      close: () => {},
      text: () => {},
      doctype: () => {},
      fault: (what) => {
        throw new Error(what)
      },
    })
    tokens.push(Buffer.from('<sheet name="a" grid="0" r:id="rId1"/>'))
    tokens.end()
    expect(seen).toEqual([undefined, 'rId1', 'rId1', undefined])
  })
})
