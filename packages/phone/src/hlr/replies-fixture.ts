/** The number that the replies are about. */
export const NUMBER = '+41793026727'

/** A reply of hlr-lookups; by default the number is connected. */
export function hlrLookupsReply(fields: object): object {
  return {
    id: 'e428acb1c0ae',
    msisdn: NUMBER,
    connectivity_status: 'CONNECTED',
    mccmnc: '22801',
    original_network_name: 'Swisscom',
    original_country_name: 'Switzerland',
    original_country_code: 'CH',
    is_ported: false,
    ported_network_name: null,
    ported_country_code: null,
    is_roaming: false,
    cost: '0.0100',
    processing_status: 'COMPLETED',
    data_source: 'LIVE_HLR',
    ...fields,
  }
}

/** A reply of Infobip for one number: status group, GSM error, and whether it is ported. */
export function infobipReply({
  group = 3,
  error = 0,
  ported = false,
}: {
  group?: number
  error?: number
  ported?: boolean
}): object {
  const result = {
    to: NUMBER.slice(1),
    mccMnc: '22801',
    originalNetwork: { networkName: 'Swisscom', countryName: 'Switzerland', countryPrefix: '41' },
    ported,
    roaming: false,
    status: { groupId: group, groupName: group === 3 ? 'DELIVERED' : 'OTHER', id: 5 },
    error: { groupId: 1, id: error, name: `EC_${error}`, permanent: error === 1 },
  }
  return { results: [result] }
}

/** A reply of Twilio: line status, or the error of its package. */
export function twilioReply(status: string | null, error: number | null = null): object {
  return {
    phone_number: NUMBER,
    country_code: 'CH',
    valid: true,
    validation_errors: [],
    line_type_intelligence: { carrier_name: 'Swisscom', type: 'mobile', error_code: null },
    line_status: { status, error_code: error },
  }
}

/** A reply of Vonage Number Insight Advanced; by default the number is reachable. */
export function vonageReply(fields: object): object {
  return {
    status: 0,
    status_message: 'Success',
    request_id: 'b7ea7a7e',
    international_format_number: NUMBER.slice(1),
    valid_number: 'valid',
    reachable: 'reachable',
    ported: 'not_ported',
    roaming: { status: 'not_roaming' },
    current_carrier: { name: 'Swisscom', country: 'CH', network_type: 'mobile' },
    ...fields,
  }
}

/** A reply of Vonage Identity Insights with this reachability, and these fields of the network. */
export function identityReply(reachability: object, network: object = {}): object {
  const status = { code: 'OK', message: 'Success' }
  const carrier = { name: 'Swisscom', network_type: 'MOBILE', country_code: 'CH', status }
  return {
    request_id: 'aaaaaaaa-bbbb',
    insights: {
      format: { is_format_valid: true, status },
      current_carrier: { ...carrier, ...network },
      original_carrier: carrier,
      reachability: { status, ...reachability },
    },
  }
}

/** A reply of Messente with this status. */
export function messenteReply(status: string, fields: object = {}): object {
  const network = { networkName: 'Swisscom', countryName: 'Switzerland', mccmnc: '22801' }
  const result = {
    number: NUMBER,
    roaming: false,
    ported: false,
    status,
    current_network: network,
    original_network: network,
    error: null,
    ...fields,
  }
  return { id: 'req-1', result: [result] }
}
