// Without shapes, so that a page can know them without a parser.

/** The longest address of an endpoint, in characters. */
export const WEBHOOK_URL_CHARS = 1_000

/** Days for which deliveries are listed, and can be sent again. */
export const WEBHOOK_KEPT_DAYS = 30

/** Messages of one endpoint that are kept at most; beyond that the oldest that have ended are deleted. */
export const WEBHOOK_KEPT_MAX = 100_000

/** Messages that wait for one endpoint at most; beyond that the ones waiting longest fail. */
export const WEBHOOK_PENDING_MAX = 50_000

/** Hours for which messages are signed with the previous secret, too. */
export const WEBHOOK_ROTATION_HOURS = 24

/** Bytes of an endpoint's response that are stored. */
export const WEBHOOK_RESPONSE_BYTES = 1_024

/** Deliveries of a page, by default and at most. */
export const DELIVERY_PAGE = { default: 20, max: 100 } as const

/**
 * Messages that one request sends again at most, and messages that are due from which on an
 * endpoint is not sent others again.
 */
export const WEBHOOK_REPLAY = { most: 10_000, maxDue: 100 } as const

/** States of a delivery. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const
/** State of a delivery. */
export type DeliveryState = (typeof DELIVERY_STATES)[number]
