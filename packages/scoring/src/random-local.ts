const MIN_LENGTH = 10
const MIN_SWITCHES = 4
const MIN_CONSONANT_RUN = 7

/**
 * Whether a local part looks generated: alternating letters and digits, or a run of consonants that
 * no language has. Parts with separators count as names.
 */
export function looksRandom(local: string): boolean {
  const name = (local.split('+')[0] ?? '').toLowerCase()
  if (name.length < MIN_LENGTH || name.length > 64 || !/^[a-z0-9]+$/.test(name)) return false
  let switches = 0
  let run = 0
  let longestRun = 0
  for (let index = 0; index < name.length; index++) {
    const digit = isDigit(name.charCodeAt(index))
    if (index > 0 && digit !== isDigit(name.charCodeAt(index - 1))) switches += 1
    run = digit || 'aeiouy'.includes(name.charAt(index)) ? 0 : run + 1
    longestRun = Math.max(longestRun, run)
  }
  return switches >= MIN_SWITCHES || longestRun >= MIN_CONSONANT_RUN
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}
