/**
 * Sets of words by name: `{name}` in a phrase of a reply rule stands for any one of them. Each word
 * is a piece of a regular expression over the lower-case text of a reply.
 */
// oxfmt-ignore
export const REPLY_WORDS: Readonly<Record<string, readonly string[]>> = {
  'exchange-restriction': [
    'notauthorized', 'sendernotauthenticated', 'restrictedtorecipientspermission',
    'senderrestricted', 'authrequired', 'notauthenticated',
  ],
  'sender-word': [
    'address', 'domain', 'mail ?box', 'account', 'verif', 'call-?(?:out|back|ahead)',
    'is (?:block|reject|not)', 'rejected', 'denied', 'refused', 'not ', 'blocked', 'ip\\b', 'id\\b',
    'host', 'policy', 'hostname', 'has been', 'was ',
  ],
  'not-resolved': [
    'does not exist', 'do(?:es)? not resolve', "couldn't be", 'cannot be', 'could not be',
    'not found',
  ],
  'too-many-of': [
    'connections?', 'concurrent', 'sessions', 'messages', 'recipients', 'mails', 'e-?mails',
    'errors', 'invalid', 'unknown', 'bad', 'requests', 'commands', 'failed', 'hops? from',
  ],
  'our-side': [
    'your', 'the', 'sending', 'client', 'source', 'remote', 'originating', 'connecting', 'this',
    'from',
  ],
  'our-host': [
    'ip', 'ipv[46]', 'host', 'server', 'network', 'system', 'mta', 'smtp server', 'mail server',
    'isp', 'provider', 'computer', 'country', 'machine', 'pc',
  ],
  'blocked-word': [
    'block', 'reject', 'den(?:y|ied)', 'ban', 'refus', 'not (?:allow|accept|permit|welcome)',
    'prohibit', 'disallow', 'suspend', 'forbid', 'unacceptable', 'problem', 'blacklist',
  ],
  refusing: ['block', 'reject', 'den(?:y|ied)', 'refus', 'not accept'],
  'from-us': [
    'your (?:ip|host|server|network)', 'from (?:your|this|the) (?:ip|host|server|network)',
    'connections? from', 'mail from \\d', 'mail from your', 'from ip', 'from \\[?\\d{1,3}\\.\\d',
  ],
  'your-kind-of': ['mail ', 'smtp ', 'sending ', 'own ', 'dns ', 'email ', 'e-mail '],
  'your-host': [
    'ip', 'host', 'hostname', 'host name', 'mta', 'network', 'dns', 'helo', 'isp', 'server',
    'mailserver', 'machine', 'computer',
  ],
  'not-your': ['administrator', 'admin', 'provider', 'support'],
  'probing-word': [
    'verification (?:service|attempt)', 'address (?:probing|verification service)', 'harvest',
    'dictionary attack', 'namespace mining',
  ],
  'relay-refused': [
    'denied', 'not (?:allowed|permitted|accepted|supported)', 'prohibited', 'rejected', 'refused',
    'blocked', 'restricted', 'disallowed', 'forbidden', 'no[nt]',
  ],
  unable: [
    'unable', 'cannot', 'not', "can't", "won't", 'no', 'denied', 'unauthori[sz]ed', "don'?t",
    'open', 'prohibited', 'proper', 'permitted to', 'allowed to',
  ],
  'not-served': [
    'hosted', 'local', 'served', 'accepted', 'handled', 'configured', 'found here', 'in my',
    'allowed', 'listed', 'supported', 'in our', 'one of',
  ],
  'user-noun': ['user', 'mail ?box', 'recipient', 'account', 'add?ress'],
  'store-noun': [
    'mailbox', 'inbox', 'account', 'user', 'recipient', 'mail ?folder', 'maildir', 'e-?mail',
    'storage', 'disk ?space', 'disc', 'disk', 'message store', 'store',
  ],
  over: ['over', 'exceed(?:s|ed|ing)?', 'out of', 'reached', 'exhausted', 'beyond'],
  its: [
    'its ', 'his ', 'her ', 'his/her ', 'their ', 'the ', 'your ', 'disk ', 'mail ', 'mailbox ',
    'maximum ', 'allowed ', 'allotted ',
  ],
  space: ['quota', 'storage', 'space', 'size', 'limit', 'capacity'],
  'over-or-violating': [
    'over', 'exceed(?:s|ed|ing)?', 'out of', 'reached', 'beyond', 'would exceed', 'violat\\w{1,10}',
  ],
  'its-quota': [
    'its ', 'his ', 'the ', 'their ', 'disk ', 'mail ', 'mailbox ', 'allowed ', 'user ', 'storage ',
    'of ',
  ],
  'name-server': [
    'name ?-?servers?', 'name service', 'dns(?: server| query| lookup)?', 'resolver', 'dnssec',
  ],
  'name-server-fault': [
    'error', 'fail', 'bogus', 'time[d-]? ?out', 'unavailable', 'refused', 'unreachable', 'problem',
    'trouble', "did(?: not|n't) (?:respond|answer|reply)", 'not respon',
  ],
  directory: ['directory', 'ldap', 'database', 'sql', 'back-?end', 'user ?db'],
  'directory-service': [' server', ' service', ' connection', ' query', ' host'],
  'directory-fault': [
    'error', 'failure', 'not (?:available|responding|reachable)', 'unavailable', 'unreachable',
    'time[d-]? ?out', 'down', 'offline', 'connection (?:lost|refused|failed)', 'lost', 'busy',
  ],
  'not-able': [
    'can ?not', "can't", 'unable', 'could not', "couldn't", 'unavailable', 'not available',
  ],
  'this-moment': ['at (?:this|the) (?:time|moment)', 'right now', 'at present'],
  administrator: [
    'admin', 'owner', 'operator', 'postmaster', 'policy', 'staff', 'provider', 'system', 'isp',
  ],
  'passing-noun': [
    'mail ?box', 'inbox', 'account', 'address', 'user', 'recipient', 'customer', 'subscriber',
    'e-?mail',
  ],
  'passing-state': [
    'locked', 'blocked', 'frozen', 'closed', 'held', 'disabled', 'suspended', 'de-?activated',
    'inactive', 'restricted', 'inaccessible',
  ],
  'for-now': [
    'temporar(?:y|ily)',
    'for (?:now|the moment|a (?:while|moment|short)|\\d{1,4} ?(?:s|m(?!on)|h))', 'until',
    'momentarily', 'pending', '(?:migration|maintenance|move|backup) in progress', 're-?try',
    'try (?:again|later)',
    '(?:by|due to|for|during|while) (?:an? |the )?(?:other |another )?(?:process|session|migration|maintenance|mov|backup|restor|repair|index)',
  ],
  'account-noun': [
    'mailbox', 'account', 'address', 'user', 'recipient', 'e-?mail', 'domain', 'service', 'boite',
    'inbox', 'destinataire', 'customer', 'subscriber', 'alias', 'mail',
  ],
  been: [
    'is', 'has been', 'was', 'are', 'currently', 'temporarily', 'permanently', 'been',
    'administratively',
  ],
  'closed-state': [
    'disabled', 'suspended', 'deactivated', 'de-activated', 'inactive', 'frozen', 'terminated',
    'locked', 'closed', 'discontinued', 'expired', 'cancell?ed', 'on hold', 'archived', 'archivee',
    'retired', 'not active', 'unsubscribed', 'no longer active', 'blocked(?! (?:by|due|for)\\b)',
  ],
  'closed-before': [
    'disabled', 'suspended', 'inactive', 'deactivated', 'locked', 'frozen', 'closed', 'expired',
    'terminated', 'discontinued', 'archived',
  ],
  'closed-noun': ['mailbox', 'account', 'user', 'recipient', 'address', 'customer', 'alias'],
  'missing-noun': [
    'someone@[^\\s@]{1,100}', 'user', 'recipient', 'mail ?box', 'account', 'add?ress?', 'alias',
    'addressee', 'customer', 'subscriber', 'person', 'name', 'login', 'e-?mail', 'rcpt',
    'destinataire', 'employee', 'mail ?box name', 'id', 'username', 'local[ -]part', 'destination',
  ],
  'missing-filler': [
    ' e-?mail', ' mail', ' name', ' address', ' account', ' box', ' id', ' is', ' was', ' are',
    ' not', ' has', ' has been', ':', ',', ' -',
  ],
  'address-in-brackets': ['<[^>]{0,80}>', '\\[[^\\]]{0,80}\\]', 'someone@[^\\s@]{1,80}'],
  'missing-state': [
    'unknow', 'not[ -]?found', 'not exist', 'do(?:es)? no exist', "don'?t exist", "doesn'?t exist",
    "does ?n[o']t exists?", 'do(?:es)? not exist', 'not exists', 'nonexistent', 'non-existent',
    'not present', 'not known', 'not recogni[sz]ed', "isn'?t recogni[sz]ed", 'could not be found',
    "couldn'?t be found", "can(?:'t|not) be found", 'was not found', 'not listed',
    'not in (?:directory|our|the|this)', 'unallocated', 'inconnu',
    'no longer (?:exists?|valid|available|in use|on server|here|works|with|employed)',
    'never existed', 'not registered', 'unrecogni[sz]ed', 'no such', 'not (?:a )?valid\\b',
    'not our', 'desconhecid', 'inexistente', 'no existe', 'nicht (?:gefunden|bekannt|vorhanden)',
    'unbekannt', 'existiert nicht', 'removed', 'deleted',
  ],
  'unknown-word': [
    'unknown', 'no[- ]such', 'invalid', 'no valid(?! recipients)', 'nonexistent', 'non-existent',
    'undefined', 'not a (?:known|valid|registered|recogni[sz]ed|current)',
    "isn'?t a (?:known|valid)", 'no matching', 'unrecogni[sz]ed', 'unrouteable', 'unroutable',
    'no longer a (?:valid|current)', 'not an? active', 'bad', 'incorrect', 'wrong',
    'unable to (?:find|locate)', "can(?:'t|not) find", "couldn'?t find", 'could not find',
    'did not find', 'no record of', 'never heard of', 'illegal',
  ],
  'or-unknown': ['invalid', 'unknown', 'illegal', 'inactive', 'non-existent'],
  which: [
    'the ', 'a ', 'an ', 'any ', 'such ', 'local ', 'virtual ', 'internet ', 'destination ',
    'envelope ', 'final ', 'target ', 'gateway ', 'remote ', 'this ', 'of ', 'that ', 'e-?mail ',
    'mail ', 'smtp ', 'rcpt ', 'pop ', 'active ',
  ],
  'mailbox-noun': [
    'user', 'recipient', 'mail ?box', 'account', 'add?ress?(?!es? list)', 'alias', 'addressee',
    'person', 'local[ -]?part', 'rcpt', 'customer', 'subscriber', 'login', 'mail ?drop',
    'name here', 'people', 'e-?mail', 'id\\b', 'destination(?! (?:host|domain))',
  ],
  nobody: [
    'nobody', 'no one', 'no-one', 'no user', 'no account', 'no mail ?box', 'no recipient',
    'no address', 'no person', 'nobody by', 'no-one by',
  ],
  'nobody-here': [
    'by that name', 'of that name', 'with (?:that|this) name', 'by this name', 'here', 'at this',
    'found', 'available for this user', 'matching', 'exists',
  ],
  'our-noun': ['user', 'address', 'mailbox', 'account', 'customer', 'recipient'],
  here: ['here', 'at this', 'on this', 'in this', 'of this'],
  'known-word': ['known', 'valid', 'registered', 'active', 'deliverable', 'defined'],
  'known-noun': [
    'user', 'e-?mail', 'mailbox', 'address', 'recipient', 'account', 'here', 'at this', 'on this',
  ],
  'served-noun': [
    'someone@[^\\s@]{1,100}', 'user', 'recipient', 'mail ?box', 'account', 'add?ress?', 'alias',
    'addressee', 'customer', 'subscriber', 'person', 'login',
  ],
  'served-word': [
    'handled', 'served', 'serviced', 'managed', 'administ(?:e|ra)red', 'hosted', 'housed',
    'processed', 'local', 'known', 'defined', 'recogni[sz]ed',
  ],
  serve: ['handle', 'serve', 'host', 'manage', 'have', 'know'],
  'recipient-noun': ['user', 'mail ?box', 'recipient', 'account', 'add?ress?'],
  'host-noun': ['user', 'recipient', 'mail ?box', 'account', 'add?ress?', 'addressee'],
  'quoted-noun': ['user', 'recipient', 'mail ?box', 'account', 'addressee', 'alias'],
  'not-a-user': [
    'domain', 'host', 'server', 'name', 'dns', 'mx', 'table', 'list', 'directory', 'database',
  ],
  'message-word': [
    'size', 'too', 'rejected', 'refused', 'blocked', 'looks', 'contains', 'is ', 'was ', 'exceeds',
    'not allowed', 'denied',
  ],
  'server-part': [
    'internal', 'local', 'server', 'system', 'mailer', 'database', 'ldap', 'directory', 'dns',
    'configuration', 'config', 'temporary', 'temporarily', 'lookup', 'processing', 'resource',
    'queue', 'mail server', 'delivery', 'i/o', 'storage', 'software',
  ],
  'server-fault': [
    'error', 'fault', 'fail', 'unavailable', 'problem', 'trouble', 'busy', 'timeout', 'timed out',
    'not available', 'lookup',
  ],
  'domain-unknown': ['unknown', 'invalid', 'no such', 'nonexistent', 'unrouteable', 'unroutable'],
  'domain-of': ['recipient ', 'destination ', 'mail ', 'remote '],
  'unavailable-noun': ['mailbox', 'account', 'address', 'recipient', 'user'],
  'unavailable-word': ['unavailable', 'unavaiable', 'not available', 'undeliverable'],
  'bare-missing': ['does not exist', 'nonexistent', 'unknown', 'not found'],
  handled: ['handled', 'served', 'serviced', 'managed'],
  'mail-system': ['system', 'server', 'host', 'site', 'machine'],
  'recipient-word': ['recipient', 'address', 'rcpt', 'user'],
  'rejected-word': ['rejected', 'refused', 'not accepted'],
}
