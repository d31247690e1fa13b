import { at, hash32, hashFraction } from '../random.ts'

/** The state of a number in the network. */
export type PhoneState = 'connected' | 'absent' | 'unknown-subscriber' | 'undetermined'

/** A mobile network; `mccmnc` by ITU-T E.212. */
export interface Network {
  readonly name: string
  readonly mccmnc: string
}

/** One number with all facts of the network. */
export interface Phone {
  /** E.164 with `+`. */
  readonly number: string
  readonly state: PhoneState
  readonly countryCode: string
  readonly countryName: string
  readonly callingCode: string
  readonly original: Network
  /** Present if the number was ported to another network. */
  readonly ported?: Network
  readonly roaming?: Network & { readonly countryCode: string; readonly countryName: string }
  /** Whether its first query gets a temporary refusal, as from a busy provider. */
  readonly throttledOnce: boolean
}

interface Country {
  readonly code: string
  readonly name: string
  readonly networks: readonly Network[]
}

const network = (name: string, mccmnc: string): Network => ({ name, mccmnc })

/** Countries by calling code, with networks of ITU-T E.212. */
export const COUNTRIES: Readonly<Record<string, Country>> = {
  '1': {
    code: 'US',
    name: 'United States',
    networks: [
      network('T-Mobile USA', '310260'),
      network('AT&T Mobility', '310410'),
      network('Verizon Wireless', '311480'),
    ],
  },
  '33': {
    code: 'FR',
    name: 'France',
    networks: [
      network('Orange', '20801'),
      network('SFR', '20810'),
      network('Free Mobile', '20815'),
      network('Bouygues Telecom', '20820'),
    ],
  },
  '34': {
    code: 'ES',
    name: 'Spain',
    networks: [
      network('Movistar', '21407'),
      network('Vodafone', '21401'),
      network('Orange', '21403'),
    ],
  },
  '39': {
    code: 'IT',
    name: 'Italy',
    networks: [network('TIM', '22201'), network('Vodafone', '22210'), network('Wind Tre', '22288')],
  },
  '41': {
    code: 'CH',
    name: 'Switzerland',
    networks: [network('Swisscom', '22801'), network('Sunrise', '22802'), network('Salt', '22803')],
  },
  '43': {
    code: 'AT',
    name: 'Austria',
    networks: [network('A1', '23201'), network('Magenta', '23203'), network('Drei', '23205')],
  },
  '44': {
    code: 'GB',
    name: 'United Kingdom',
    networks: [
      network('O2', '23410'),
      network('Vodafone', '23415'),
      network('EE', '23430'),
      network('Three', '23420'),
    ],
  },
  '46': {
    code: 'SE',
    name: 'Sweden',
    networks: [network('Telia', '24001'), network('Tele2', '24007'), network('Telenor', '24008')],
  },
  '48': {
    code: 'PL',
    name: 'Poland',
    networks: [
      network('Plus', '26001'),
      network('T-Mobile', '26002'),
      network('Orange', '26003'),
      network('Play', '26006'),
    ],
  },
  '49': {
    code: 'DE',
    name: 'Germany',
    networks: [network('Telekom', '26201'), network('Vodafone', '26202'), network('O2', '26203')],
  },
  '55': {
    code: 'BR',
    name: 'Brazil',
    networks: [network('Claro', '72405'), network('Vivo', '72406'), network('TIM', '72402')],
  },
  '61': {
    code: 'AU',
    name: 'Australia',
    networks: [
      network('Telstra', '50501'),
      network('Optus', '50502'),
      network('Vodafone', '50503'),
    ],
  },
  '81': {
    code: 'JP',
    name: 'Japan',
    networks: [
      network('NTT Docomo', '44010'),
      network('KDDI', '44050'),
      network('SoftBank', '44020'),
    ],
  },
  '91': {
    code: 'IN',
    name: 'India',
    networks: [network('Airtel', '40410'), network('Jio', '405840'), network('Vi', '40420')],
  },
}

/**
 * The state of a number: a pure function of seed and number. 68 % connected, 12 % absent, 14 %
 * unknown, 6 % undetermined.
 */
export function phoneOf(seed: number, number: string): Phone {
  const digits = number.replace(/^\+/, '')
  const callingCode = ['1', '2', '3']
    .map((n) => digits.slice(0, Number(n)))
    .find((code) => COUNTRIES[code] !== undefined)
  const country = callingCode === undefined ? undefined : COUNTRIES[callingCode]
  if (callingCode === undefined || country === undefined) {
    return {
      number: `+${digits}`,
      state: 'undetermined',
      countryCode: '',
      countryName: '',
      callingCode: '',
      original: network('', ''),
      throttledOnce: false,
    }
  }
  const x = hashFraction(seed, `phone:${digits}`)
  const state =
    x < 0.68 ? 'connected' : x < 0.8 ? 'absent' : x < 0.94 ? 'unknown-subscriber' : 'undetermined'
  const pick = hash32(seed, `network:${digits}`)
  const known = state === 'connected' || state === 'absent'
  const isPorted = known && hashFraction(seed, `ported:${digits}`) < 0.15
  const isRoaming = state === 'connected' && hashFraction(seed, `roaming:${digits}`) < 0.07
  return {
    number: `+${digits}`,
    state,
    countryCode: country.code,
    countryName: country.name,
    callingCode,
    original: at(country.networks, pick),
    ...(isPorted ? { ported: at(country.networks, pick + 1) } : {}),
    ...(isRoaming ? { roaming: foreignNetwork(callingCode, pick) } : {}),
    throttledOnce: hashFraction(seed, `throttled:${digits}`) < 0.02,
  }
}

function foreignNetwork(
  home: string,
  pick: number,
): Network & { countryCode: string; countryName: string } {
  const country = at(
    Object.entries(COUNTRIES).filter(([code]) => code !== home),
    pick,
  )[1]
  return { ...at(country.networks, pick), countryCode: country.code, countryName: country.name }
}
