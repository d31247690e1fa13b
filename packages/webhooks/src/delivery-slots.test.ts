import { expect, test } from 'vitest'
import { createDeliverySlots } from './delivery-slots.ts'

test('an endpoint begins with one message at a time, and gets more as deliveries succeed', () => {
  const slots = createDeliverySlots()
  const first = slots.enter('a')
  expect(slots.left().busy).toEqual({ a: 0 })
  first(true)
  expect(slots.left().busy).toEqual({ a: 2 })
  for (let no = 0; no < 20; no++) slots.enter('a')(true)
  expect(slots.left().busy).toEqual({ a: 8 })
  slots.enter('a')(false)
  expect(slots.left().busy).toEqual({ a: 1 })
})

test('endpoints that fail share few slots, however many they are', () => {
  const slots = createDeliverySlots()
  const ids = Array.from({ length: 300 }, (_, no) => `dead${no}`)
  for (const id of ids) slots.enter(id)(false)
  const asked = Object.values(slots.left().busy).filter((count) => count > 0)
  expect(asked).toHaveLength(32)
  const leave = ids.slice(0, 32).map((id) => slots.enter(id))
  expect(Object.values(slots.left().busy).filter((count) => count > 0)).toEqual([])
  expect(slots.left().most).toBe(224)
  expect(slots.left().each).toBe(1)
  for (const each of leave) each(true)
  expect(slots.left().busy['dead0']).toBe(2)
})
