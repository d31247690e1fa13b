// Without shapes, so that a page can know them without a parser.

/** The longest address of an endpoint, in characters. */
export const WEBHOOK_URL_CHARS = 1_000

/** How long deliveries are listed, and can be sent again. */
export const WEBHOOK_KEPT_DAYS = 30

/** How long the secret of before still signs beside the new one. */
export const WEBHOOK_ROTATION_HOURS = 24

/** What of an endpoint's response is kept, in bytes. */
export const WEBHOOK_RESPONSE_BYTES = 1_024

/** How a delivery stands. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const
/** One of them. */
export type DeliveryState = (typeof DELIVERY_STATES)[number]
