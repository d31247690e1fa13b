import { z } from 'zod'
import type { Product } from './products.ts'

const lineType = z.enum(['mobile', 'landline', 'voip', 'unknown'])
const score = z.int().min(0).max(100)
const text = z.string().nullable()

/** Source of all shapes and their field order: spec.md section 2; nulls by decision 1. */
const emailResult = z.strictObject({
  email: z.string(),
  valid: z.boolean(),
  deliverable: z.boolean(),
  syntax_valid: z.boolean(),
  mx_found: z.boolean(),
  smtp_valid: z.boolean(),
  disposable: z.boolean(),
  role_account: z.boolean(),
  free_provider: z.boolean(),
  domain: text,
  credits_used: z.int(),
})

const ipResult = z.strictObject({
  ip: z.string(),
  valid: z.boolean(),
  country: text,
  country_code: text,
  region: text,
  city: text,
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
  timezone: text,
  isp: text,
  asn: text,
  is_vpn: z.boolean(),
  is_proxy: z.boolean(),
  is_tor: z.boolean(),
  is_datacenter: z.boolean(),
  threat_score: score,
  credits_used: z.int(),
})

const phoneResult = z.strictObject({
  phone: z.string(),
  valid: z.boolean(),
  reachable: z.boolean(),
  country: text,
  country_code: text,
  national_format: text,
  line_type: lineType,
  carrier: text,
  carrier_country: text,
  ported: z.boolean(),
  roaming: z.boolean(),
  credits_used: z.int(),
})

const domainResult = z.strictObject({
  domain: z.string(),
  valid: z.boolean(),
  registered: z.boolean(),
  registrar: text,
  created_date: text,
  expiry_date: text,
  age_days: z.int().min(-1),
  dns_healthy: z.boolean(),
  mx_found: z.boolean(),
  spf_found: z.boolean(),
  dmarc_found: z.boolean(),
  disposable: z.boolean(),
  parked: z.boolean(),
  safety_score: score,
  credits_used: z.int(),
})

const intelEmail = z.strictObject({
  address: z.string(),
  valid: z.boolean(),
  deliverable: z.boolean(),
  disposable: z.boolean(),
  role_account: z.boolean(),
  mx_found: z.boolean(),
})

const intelPhone = z.strictObject({
  number: z.string(),
  valid: z.boolean(),
  reachable: z.boolean(),
  line_type: lineType,
  carrier: text,
  country_code: text,
})

const intelIp = z.strictObject({
  address: z.string(),
  country_code: text,
  city: text,
  is_vpn: z.boolean(),
  is_proxy: z.boolean(),
  is_tor: z.boolean(),
  threat_score: score,
})

const intelDomain = z.strictObject({
  domain: z.string(),
  registered: z.boolean(),
  age_days: z.int().min(-1),
  dns_healthy: z.boolean(),
  disposable: z.boolean(),
  safety_score: score,
})

/** `phone` is present if a phone was sent, in the shape of contact intelligence (decision 29). */
const deliverabilityResult = z.strictObject({
  email: z.string(),
  deliverable: z.boolean(),
  confidence: z.enum(['high', 'medium', 'low']),
  syntax_valid: z.boolean(),
  mx_found: z.boolean(),
  smtp_valid: z.boolean(),
  spam_trap: z.boolean(),
  disposable: z.boolean(),
  catch_all: z.boolean(),
  role_account: z.boolean(),
  free_provider: z.boolean(),
  domain: text,
  phone: intelPhone.optional(),
  credits_used: z.int(),
})

const contactIntelResult = z.strictObject({
  email: intelEmail,
  phone: intelPhone.optional(),
  ip: intelIp.optional(),
  domain: intelDomain.optional(),
  credits_used: z.int(),
})

const fraudSignalsResult = z.strictObject({
  fraud_score: score,
  risk_level: z.enum(['low', 'medium', 'high']),
  email: z.strictObject({
    address: z.string(),
    valid: z.boolean(),
    deliverable: z.boolean(),
    disposable: z.boolean(),
    spam_trap: z.boolean(),
    role_account: z.boolean(),
  }),
  phone: z
    .strictObject({
      number: z.string(),
      valid: z.boolean(),
      reachable: z.boolean(),
      line_type: lineType,
      carrier: text,
      ported: z.boolean(),
    })
    .optional(),
  ip: z
    .strictObject({
      address: z.string(),
      country_code: text,
      is_vpn: z.boolean(),
      is_proxy: z.boolean(),
      is_tor: z.boolean(),
      is_datacenter: z.boolean(),
      threat_score: score,
    })
    .optional(),
  domain: z
    .strictObject({
      domain: z.string(),
      registered: z.boolean(),
      age_days: z.int().min(-1),
      disposable: z.boolean(),
      safety_score: score,
    })
    .optional(),
  credits_used: z.int(),
})

/** Results of the seven products. */
export const RESULTS = {
  email: emailResult,
  ip: ipResult,
  phone: phoneResult,
  domain: domainResult,
  deliverability: deliverabilityResult,
  'contact-intel': contactIntelResult,
  'fraud-signals': fraudSignalsResult,
} as const satisfies Record<Product, z.ZodType>

/** Result of a product; of any product if none is given. */
export type ResultOf<P extends Product = Product> = z.infer<(typeof RESULTS)[P]>

/** Bands of the composite score. Source: spec.md 2.7. */
export function riskLevel(fraudScore: number): 'low' | 'medium' | 'high' {
  if (fraudScore >= 70) return 'high'
  return fraudScore >= 31 ? 'medium' : 'low'
}
