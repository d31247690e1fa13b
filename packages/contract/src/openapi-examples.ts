import type { Part } from './openapi-parts.ts'

/** An example of an operation: the request, and for lookups the exact response to a test key. */
interface Example {
  readonly request: Part
  readonly response?: Part
}

/**
 * Examples by operation. Those of lookups hold values for test keys, so that anybody can run them
 * free of charge.
 */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  lookUpEmail: {
    request: {
      email: 'accepted@magic.test',
    },
    response: {
      email: 'accepted@magic.test',
      valid: true,
      deliverable: true,
      syntax_valid: true,
      mx_found: true,
      smtp_valid: true,
      disposable: false,
      role_account: false,
      free_provider: false,
      domain: 'magic.test',
      credits_used: 1,
    },
  },
  lookUpIp: {
    request: {
      ip: '192.0.2.1',
    },
    response: {
      ip: '192.0.2.1',
      valid: true,
      country: 'United States',
      country_code: 'US',
      region: 'Virginia',
      city: 'Ashburn',
      latitude: 39.0437,
      longitude: -77.4875,
      timezone: 'America/New_York',
      isp: 'Magic Networks',
      asn: 'AS64496',
      is_vpn: false,
      is_proxy: false,
      is_tor: false,
      is_datacenter: false,
      threat_score: 0,
      credits_used: 1,
    },
  },
  lookUpPhone: {
    request: {
      phone: '+12025550100',
    },
    response: {
      phone: '+12025550100',
      valid: true,
      reachable: true,
      country: 'United States',
      country_code: 'US',
      national_format: '(202) 555-0100',
      line_type: 'mobile',
      carrier: 'Magic Mobile',
      carrier_country: 'United States',
      ported: false,
      roaming: false,
      credits_used: 2,
    },
  },
  lookUpDomain: {
    request: {
      domain: 'registered.magic.test',
    },
    response: {
      domain: 'registered.magic.test',
      valid: true,
      registered: true,
      registrar: 'Magic Registrar',
      created_date: '2010-01-01T00:00:00Z',
      expiry_date: '2030-01-01T00:00:00Z',
      age_days: 5844,
      dns_healthy: true,
      mx_found: true,
      spf_found: true,
      dmarc_found: true,
      disposable: false,
      parked: false,
      safety_score: 100,
      credits_used: 2,
    },
  },
  lookUpDeliverability: {
    request: {
      email: 'accept-all@magic.test',
      phone: '+12025550101',
    },
    response: {
      email: 'accept-all@magic.test',
      deliverable: true,
      confidence: 'low',
      syntax_valid: true,
      mx_found: true,
      smtp_valid: true,
      spam_trap: false,
      disposable: false,
      catch_all: true,
      role_account: false,
      free_provider: false,
      domain: 'magic.test',
      phone: {
        number: '+12025550101',
        valid: true,
        reachable: true,
        line_type: 'mobile',
        carrier: 'Magic Mobile',
        country_code: 'US',
      },
      credits_used: 3,
    },
  },
  lookUpContactIntel: {
    request: {
      email: 'role-account@magic.test',
      ip: '192.0.2.1',
    },
    response: {
      email: {
        address: 'role-account@magic.test',
        valid: true,
        deliverable: true,
        disposable: false,
        role_account: true,
        mx_found: true,
      },
      ip: {
        address: '192.0.2.1',
        country_code: 'US',
        city: 'Ashburn',
        is_vpn: false,
        is_proxy: false,
        is_tor: false,
        threat_score: 0,
      },
      credits_used: 2,
    },
  },
  lookUpFraudSignals: {
    request: {
      email: 'disposable@magic.test',
      phone: '+12025550102',
      ip: '192.0.2.2',
    },
    response: {
      fraud_score: 85,
      risk_level: 'high',
      email: {
        address: 'disposable@magic.test',
        valid: true,
        deliverable: true,
        disposable: true,
        spam_trap: false,
        role_account: false,
      },
      phone: {
        number: '+12025550102',
        valid: true,
        reachable: true,
        line_type: 'mobile',
        carrier: 'Magic Mobile',
        ported: false,
      },
      ip: {
        address: '192.0.2.2',
        country_code: 'US',
        is_vpn: true,
        is_proxy: false,
        is_tor: false,
        is_datacenter: false,
        threat_score: 45,
      },
      credits_used: 4,
    },
  },
  createBatch: {
    request: {
      product: 'email',
      name: 'Spring list',
      records: [
        { email: 'ada@example.com', ref: '1' },
        { email: 'bob@example.com', ref: '2' },
      ],
      start: false,
      max_credits: 10,
    },
  },
  changeBatch: { request: { name: 'Spring list, second try', max_credits: 20 } },
  recheckBatch: { request: { only: ['unknown', 'risky'], max_credits: 100 } },
  rescoreBatch: { request: { name: 'By the weights of now' } },
  createWebhook: {
    request: { url: 'https://hooks.example.com/plumbline', events: ['batch.completed'] },
  },
  changeWebhook: { request: { events: ['batch.completed', 'batch.failed'] } },
  replayWebhook: { request: { since: '2026-11-22T10:00:00Z' } },
  erase: {
    request: { email: ['ada@example.com'], domain: 'example.com', include_addresses: true },
  },
}

/** The paths with their examples, in requests and in responses in JSON. */
export function withExamples(paths: Part): Part {
  return mapObject(paths, (methods) => mapObject(methods, (operation) => exampled(operation)))
}

function exampled(operation: Part): Part {
  const example = EXAMPLES[String(operation['operationId'])]
  if (example === undefined) return operation
  const { request, response } = example
  const { requestBody, responses } = operation
  return {
    ...operation,
    requestBody: inJson(asPart(requestBody), request),
    ...(response === undefined
      ? {}
      : {
          responses: {
            ...asPart(responses),
            200: inJson(asPart(asPart(responses)['200']), response),
          },
        }),
  }
}

/** A body or response with an example of its JSON. */
function inJson(part: Part, example: Part): Part {
  const content = asPart(part['content'])
  const json = { ...asPart(content['application/json']), example }
  return { ...part, content: { ...content, 'application/json': json } }
}

function mapObject(parts: Part, map: (part: Part) => Part): Part {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, map(asPart(part))]))
}

/** Safe because the pieces of the description are objects of objects. */
function asPart(value: unknown): Part {
  return value as Part
}
