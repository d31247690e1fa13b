import { jsonSchemaOf } from '@plumbline/contract/json-schema'
import { PRODUCT_PLANS, PRODUCTS, type Product } from '@plumbline/contract/products'
import { REQUESTS, type RequestOf } from '@plumbline/contract/requests'
import { readInput, type Tool } from './tool.ts'

const ABOUT: Readonly<Record<Product, string>> = {
  email: 'Validates an email address: syntax, mail servers, whether the mailbox exists',
  ip: 'Tells of an IP address: place, network, whether it is a VPN, proxy, Tor exit or data centre',
  phone: 'Tells of a phone number: whether it is in use, its line type and carrier',
  domain: 'Tells of a domain name: registration, age, mail, whether it is parked',
  deliverability:
    'Checks in depth whether an email address takes mail, and a phone number beside it',
  'contact-intel': 'Collects facts about a contact: email, and phone, IP and domain where given',
  'fraud-signals':
    'Scores the fraud risk of a contact: email, and phone, IP and domain where given',
}

/** A tool for each of the seven products. */
export function lookupTools(): readonly Tool[] {
  return PRODUCTS.map((product) => {
    const { capCredits } = PRODUCT_PLANS[product]
    const price = capCredits === 1 ? '1 credit' : `at most ${capCredits} credits`
    return {
      name: `lookup_${product.replaceAll('-', '_')}`,
      title: `Look up: ${product}`,
      description: `${ABOUT[product]}. Costs ${price}, whatever comes out.`,
      inputSchema: jsonSchemaOf(REQUESTS[product]),
      readOnly: false,
      run: async (client, input, signal) =>
        await client.lookUp(product, readInput<RequestOf>(REQUESTS[product], input), { signal }),
    }
  })
}
