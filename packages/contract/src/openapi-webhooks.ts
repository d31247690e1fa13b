import {
  answer,
  ANY,
  headers,
  jsonBody,
  pageParameters,
  POSTING,
  query,
  ref,
  refusals,
  type Part,
} from './openapi-parts.ts'
import {
  DELIVERY_PAGE,
  DELIVERY_STATES,
  WEBHOOK_KEPT_DAYS,
  WEBHOOK_REPLAY,
  WEBHOOK_ROTATION_HOURS,
} from './webhook-limits.ts'

const tags = ['webhooks']

/** The OpenAPI paths of webhooks. */
export function webhookPaths(): Part {
  const id = ref('parameters', 'WebhookId')
  const once = ref('parameters', 'IdempotencyKey')
  return {
    '/v1/webhooks': { get: list(), post: create(once) },
    '/v1/webhooks/{id}': { get: read(id), patch: change(id), delete: remove(id) },
    '/v1/webhooks/{id}/rotate': {
      post: {
        tags,
        operationId: 'rotateWebhookSecret',
        summary: `Make a new secret; the old one signs beside it for ${WEBHOOK_ROTATION_HOURS} hours`,
        description: `Each former secret signs for its ${WEBHOOK_ROTATION_HOURS} hours, also if the new one is replaced meanwhile. While two former ones sign, the call is refused with \`conflict\`.`,
        parameters: [id, once],
        responses: {
          200: answer('The endpoint with its new secret.', 'WebhookWithSecret'),
          ...refusals([...POSTING, 'not_found']),
        },
      },
    },
    '/v1/webhooks/{id}/test': {
      post: {
        tags,
        operationId: 'testWebhook',
        summary: 'Send a message of type `webhook.test`',
        parameters: [id, once],
        responses: {
          202: answer('The delivery, on its way.', 'WebhookDelivery'),
          ...refusals([...POSTING, 'not_found']),
        },
      },
    },
    ...deliveryPaths(id, once),
  }
}

function deliveryPaths(id: Part, once: Part): Part {
  return {
    '/v1/webhooks/{id}/deliveries': { get: deliveries(id) },
    '/v1/webhooks/{id}/deliveries/{delivery}/replay': {
      post: {
        tags,
        operationId: 'replayWebhookDelivery',
        summary: 'Send a message again, under the same `webhook-id`',
        description: 'The delivery keeps its id, and shows the newest response.',
        parameters: [id, ref('parameters', 'DeliveryId'), once],
        responses: {
          202: answer('The delivery, on its way again.', 'WebhookDelivery'),
          ...refusals([...POSTING, 'not_found']),
        },
      },
    },
    '/v1/webhooks/{id}/replay': {
      post: {
        tags,
        operationId: 'replayWebhook',
        summary: 'Send again all messages since a time',
        description: `Up to ${WEBHOOK_REPLAY.most.toLocaleString('en')} messages, oldest first, each under its \`webhook-id\`. Those that wait for their next attempt are sent at once; those that are due already are not counted. While ${WEBHOOK_REPLAY.maxDue} messages or more wait to be sent to the endpoint, the call is refused with \`conflict\`.`,
        parameters: [id, once],
        requestBody: jsonBody('WebhookReplay'),
        responses: {
          202: answer('How many messages are on their way again.', 'WebhookReplayed'),
          ...refusals([...POSTING, 'not_found', 'payload_too_large', 'unsupported_media_type']),
        },
      },
    },
  }
}

function list(): Part {
  return {
    tags,
    operationId: 'listWebhooks',
    summary: 'Endpoints, oldest first',
    responses: {
      200: answer('The endpoints.', 'WebhookList'),
      ...refusals([...ANY, 'bad_request']),
    },
  }
}

function create(once: Part): Part {
  return {
    tags,
    operationId: 'createWebhook',
    summary: 'Create an endpoint, which receives events',
    description:
      'Messages follow Standard Webhooks 1.0: headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, body `{type, timestamp, data}`, where `data` is what a GET of the object gives. A message may come more than once, and messages may come out of order. Nothing is sent at creation.',
    parameters: [once],
    requestBody: jsonBody('WebhookRequest'),
    responses: {
      201: answer('The endpoint with its secret, which is shown this once.', 'WebhookWithSecret', [
        'Location',
        'IdempotentReplayed',
      ]),
      ...refusals([...POSTING, 'payload_too_large', 'unsupported_media_type']),
    },
  }
}

function read(id: Part): Part {
  return {
    tags,
    operationId: 'readWebhook',
    summary: 'One endpoint',
    parameters: [id],
    responses: {
      200: answer('The endpoint.', 'Webhook'),
      ...refusals([...ANY, 'bad_request', 'not_found']),
    },
  }
}

function change(id: Part): Part {
  return {
    tags,
    operationId: 'changeWebhook',
    summary: 'Change address or events, or switch it on or off',
    parameters: [id],
    requestBody: jsonBody('WebhookChange'),
    responses: {
      200: answer('The endpoint as it is now.', 'Webhook'),
      ...refusals([
        ...ANY,
        'bad_request',
        'not_found',
        'payload_too_large',
        'unsupported_media_type',
      ]),
    },
  }
}

function remove(id: Part): Part {
  return {
    tags,
    operationId: 'deleteWebhook',
    summary: 'Remove an endpoint and its deliveries',
    parameters: [id],
    responses: {
      204: { description: 'Removed.', headers: headers([]) },
      ...refusals([...ANY, 'bad_request', 'not_found']),
    },
  }
}

function deliveries(id: Part): Part {
  return {
    tags,
    operationId: 'listWebhookDeliveries',
    summary: `What was sent in the last ${WEBHOOK_KEPT_DAYS} days, newest first`,
    parameters: [
      id,
      ...pageParameters(DELIVERY_PAGE),
      query('status', { type: 'string', enum: DELIVERY_STATES }),
    ],
    responses: {
      200: answer('A page.', 'WebhookDeliveries'),
      ...refusals([...ANY, 'bad_request', 'not_found']),
    },
  }
}
