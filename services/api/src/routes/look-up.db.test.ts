import { PRODUCTS } from '@plumbline/contract/products'
import { RESULTS } from '@plumbline/contract/results'
import { expect, test } from 'vitest'
import { openStage } from '../stage/stage.ts'

const values = {
  email: 'ada@example.com',
  phone: '+12025550123',
  ip: '8.8.8.8',
  domain: 'example.com',
}

test('smoke', async () => {
  await using stage = await openStage()
  const { live } = await stage.account()
  for (const product of PRODUCTS) {
    const body = product === 'ip' || product === 'phone' || product === 'domain' ? { [product]: values[product] } : { email: values.email }
    const answer = await stage.call(`/v1/${product}`, { key: live, body })
    console.log(answer.status, answer.text, [...answer.headers])
    expect(answer.status).toBe(200)
    RESULTS[product].parse(answer.json)
  }
})
