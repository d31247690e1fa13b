import { expect, test } from 'vitest'
import type { DueDelivery } from '@plumbline/db/webhooks/deliveries'
import { createDeliverySlots } from './delivery-slots.ts'

const of = (
  endpointId: string,
  accountId = `account of ${endpointId}`,
): Pick<DueDelivery, 'endpointId' | 'accountId'> => ({
  endpointId,
  accountId,
})
const A = of('a')

test('an endpoint begins with one message at a time, and gets more as deliveries succeed', () => {
  const slots = createDeliverySlots()
  const first = slots.enter(A)
  expect(slots.left().busy).toEqual({ a: 0 })
  first(true)
  expect(slots.left().busy).toEqual({ a: 2 })
  for (let no = 0; no < 20; no++) slots.enter(A)(true)
  expect(slots.left().busy).toEqual({ a: 8 })
  slots.enter(A)(false)
  expect(slots.left().busy).toEqual({ a: 1 })
})

test('endpoints that fail share few slots, however many they are', () => {
  const slots = createDeliverySlots()
  const ids = Array.from({ length: 300 }, (_, no) => `dead${no}`)
  for (const id of ids) slots.enter(of(id))(false)
  const { failing, ofFailing } = slots.left()
  expect(failing.toSorted()).toEqual(ids.toSorted())
  expect(ofFailing).toBe(32)
  const leave = ids.slice(0, 32).map((id) => slots.enter(of(id)))
  expect(slots.left()).toMatchObject({ most: 224, each: 1, ofFailing: 0 })
  for (const each of leave) each(true)
  expect(slots.left().ofFailing).toBe(32)
  expect(slots.left().failing).toHaveLength(268)
  expect(slots.left().busy['dead0']).toBe(2)
})

test('an account has a quarter of the slots at most, however many endpoints it has', () => {
  const slots = createDeliverySlots()
  expect(slots.left()).toMatchObject({ ofAccount: 64, busyAccounts: {} })
  const leave = Array.from({ length: 64 }, (_, no) => slots.enter(of(`slow${no}`, 'one')))
  slots.enter(of('b', 'other'))
  expect(slots.left()).toMatchObject({ most: 191, busyAccounts: { one: 0, other: 63 } })
  for (const each of leave) each(true)
  expect(slots.left().busyAccounts).toEqual({ other: 63 })
})
