/**
 * Parser of a string, literal or number that arrives in pieces; one object handles one token after
 * the other.
 */
export interface JsonToken {
  /** Whether the last token has ended. */
  readonly isOver: boolean
  /** Begins a token with its first character; false if none begins with it. */
  begin(char: string): boolean
  /**
   * Returns the position after the part of `text` that it has consumed; `FAULTY` if the token is
   * invalid.
   */
  take(text: string, from: number): number
  /** Whether the token is complete if the text ends here. */
  endsHere(): boolean
}

/** Returned for an invalid token. */
export const FAULTY = -1

const [QUOTE, BACKSLASH, FIRST_PRINTABLE] = [0x22, 0x5c, 0x20]

/** A string. Source: RFC 8259, section 7. */
export function createStringToken(): JsonToken {
  let isOver = false
  let isEscaped = false
  let digitsLeft = 0
  function escaped(char: string): boolean {
    if (!isEscaped) {
      digitsLeft -= 1
      return /[0-9a-fA-F]/.test(char)
    }
    isEscaped = false
    if (char === 'u') digitsLeft = 4
    return '"\\/bfnrtu'.includes(char)
  }
  return {
    get isOver() {
      return isOver
    },
    begin: (char) => {
      isOver = false
      return char === '"'
    },
    take: (text, from) => {
      for (let at = from; at < text.length; at += 1) {
        const code = text.charCodeAt(at)
        if (isEscaped || digitsLeft > 0) {
          if (!escaped(text[at] ?? '')) return FAULTY
        } else if (code === QUOTE) {
          isOver = true
          return at + 1
        } else if (code === BACKSLASH) {
          isEscaped = true
        } else if (code < FIRST_PRINTABLE) {
          return FAULTY
        }
      }
      return text.length
    },
    endsHere: () => isOver,
  }
}

const LITERALS = ['true', 'false', 'null'] as const

/** `true`, `false` or `null`. */
export function createLiteralToken(): JsonToken {
  let word = ''
  let place = 0
  return {
    get isOver() {
      return place === word.length
    },
    begin: (char) => {
      word = LITERALS.find((literal) => literal.startsWith(char)) ?? ''
      place = 1
      return word !== ''
    },
    take: (text, from) => {
      let at = from
      for (; at < text.length && place < word.length; at += 1, place += 1) {
        if (text[at] !== word[place]) return FAULTY
      }
      return at
    },
    endsHere: () => place === word.length,
  }
}

/** States of a number; it may end in those of `WHOLE`. */
type NumberState = 'minus' | 'zero' | 'int' | 'dot' | 'fraction' | 'e' | 'e-sign' | 'exponent'

const WHOLE: readonly NumberState[] = ['zero', 'int', 'fraction', 'exponent']

/** A number. Source: RFC 8259, section 6. */
export function createNumberToken(): JsonToken {
  let state: NumberState = 'zero'
  let isOver = false
  return {
    get isOver() {
      return isOver
    },
    begin: (char) => {
      isOver = false
      state = startOf(char) ?? 'zero'
      return startOf(char) !== undefined
    },
    take: (text, from) => {
      for (let at = from; at < text.length; at += 1) {
        const next = stepOf(state, text[at] ?? '')
        if (next === undefined) {
          isOver = true
          return WHOLE.includes(state) ? at : FAULTY
        }
        state = next
      }
      return text.length
    },
    endsHere: () => WHOLE.includes(state),
  }
}

function startOf(char: string): NumberState | undefined {
  if (char === '-') return 'minus'
  if (char === '0') return 'zero'
  return char >= '1' && char <= '9' ? 'int' : undefined
}

/** The state after one more character; undefined if it does not belong to the number. */
function stepOf(state: NumberState, char: string): NumberState | undefined {
  const isDigit = char >= '0' && char <= '9'
  const isE = char === 'e' || char === 'E'
  switch (state) {
    case 'minus':
      return char === '-' ? undefined : startOf(char)
    case 'zero':
      return char === '.' ? 'dot' : isE ? 'e' : undefined
    case 'int':
      return isDigit ? 'int' : char === '.' ? 'dot' : isE ? 'e' : undefined
    case 'dot':
      return isDigit ? 'fraction' : undefined
    case 'fraction':
      return isDigit ? 'fraction' : isE ? 'e' : undefined
    case 'e':
      return isDigit ? 'exponent' : char === '+' || char === '-' ? 'e-sign' : undefined
    case 'e-sign':
    case 'exponent':
      return isDigit ? 'exponent' : undefined
  }
}
