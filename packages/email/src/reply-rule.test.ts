import { describe, expect, test } from 'vitest'
import { FOREIGN_RULES, LANGUAGES } from './foreign-rules.ts'
import { compileRule, expanded } from './reply-rule.ts'
import { REPLY_RULES } from './reply-rules.ts'
import { readable } from './reply-text.ts'
import { REPLY_WORDS } from './reply-words.ts'

/** Longest phrase; longer ones refer to sets of words. */
const PHRASE_MAX_CHARS = 170

const PHRASES = REPLY_RULES.flatMap(({ id, phrases }) =>
  Object.entries(phrases ?? {}).map(([phrase, seen]) => ({
    id,
    phrase,
    seen: seen === null ? [] : [seen].flat(),
  })),
)

describe('the phrases of the reply rules', () => {
  test('match every reply listed with them', () => {
    const missed = PHRASES.flatMap(({ id, phrase, seen }) =>
      seen
        .filter((reply) => !new RegExp(expanded(phrase)).test(readable(reply)))
        .map((reply) => `${id}: ${phrase} is not in ${reply}`),
    )
    expect(missed).toEqual([])
  })

  test('have a reply that contains them, except those with a comment that says why not', () => {
    const bare = PHRASES.filter(({ seen }) => seen.length === 0)
    expect(bare.map(({ phrase }) => phrase)).toEqual([
      'resources? restricted',
      'no such object',
      'unblock',
      '(?:white|allow) ?list',
      'firewall',
    ])
  })

  test('of each other language match the replies listed with them', () => {
    const missed = Object.entries(LANGUAGES).flatMap(([language, { seen }]) =>
      seen
        .filter((reply) => !FOREIGN_RULES.some(({ pattern }) => pattern?.test(readable(reply))))
        .map((reply) => `${language}: ${reply}`),
    )
    expect(missed).toEqual([])
    expect(Object.values(LANGUAGES).filter(({ seen }) => seen.length === 0)).toEqual([])
  })

  test('are short', () => {
    const long = PHRASES.filter(({ phrase }) => phrase.length > PHRASE_MAX_CHARS)
    expect(long.map(({ id, phrase }) => `${id}: ${phrase}`)).toEqual([])
  })

  test('use every set of words, and no unknown one', () => {
    const all = PHRASES.map(({ phrase }) => phrase).join('\n')
    expect(Object.keys(REPLY_WORDS).filter((name) => !all.includes(`{${name}}`))).toEqual([])
    expect(() => expanded('{no-such-set} is full')).toThrow('expected a set of words')
  })

  test('become one pattern for each rule', () => {
    const phrases = { '{serve} mail': null, 'no such user': '550 no such user' }
    const { text } = compileRule({ id: 'x', kind: 'missing', phrases, source: 'a test' })
    expect(text).toEqual(/(?:handle|serve|host|manage|have|know) mail|no such user/)
  })
})
