import { expect, test } from 'vitest'
import { createDeliverySlots } from './delivery-slots.ts'

test('an endpoint begins with one message at a time, and gets more as they arrive', () => {
  const room = createDeliverySlots()
  const first = room.enter('a')
  expect(room.left().busy).toEqual({ a: 0 })
  first(true)
  expect(room.left().busy).toEqual({ a: 2 })
  for (let no = 0; no < 20; no++) room.enter('a')(true)
  expect(room.left().busy).toEqual({ a: 8 })
  room.enter('a')(false)
  expect(room.left().busy).toEqual({ a: 1 })
})

test('endpoints that fail share few slots, however many they are', () => {
  const room = createDeliverySlots()
  const ids = Array.from({ length: 300 }, (_, no) => `dead${no}`)
  for (const id of ids) room.enter(id)(false)
  const asked = Object.values(room.left().busy).filter((count) => count > 0)
  expect(asked).toHaveLength(32)
  const leave = ids.slice(0, 32).map((id) => room.enter(id))
  expect(Object.values(room.left().busy).filter((count) => count > 0)).toEqual([])
  expect(room.left().most).toBe(224)
  expect(room.left().each).toBe(1)
  for (const each of leave) each(true)
  expect(room.left().busy['dead0']).toBe(2)
})
