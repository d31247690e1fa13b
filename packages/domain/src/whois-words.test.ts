import { expect, test } from 'vitest'
import { parseWhois } from './whois-parse.ts'

// Whole replies, one a line, as registries and registrars write them; ` / ` stands for a line
// break.
const FREE = `
NOT FOUND
No Data Found
Domain Status: No Object Found
Domain name.ai not registred.
Domain name.ai not registered.
No match
El dominio no se encuentra registrado en NIC Argentina
% nothing found
name.aw is free
Status: AVAILABLE
Status:\\tFREE
Domain name name.bg does not exist in database!
registration status: available
No records matching name.bj found.
Object does not exist
Domain status:         available
Not found: name.ca
No match for "NAME.CC".
We do not have an entry in our database matching your query.
Domain name.ci not found
% No entries found for the selected source(s).
name.cl: no existe
Not Registered
no matching record
No matching record.
No domain records were found to match "name.coop"
status: Not Registered
Status: Not Registered
Status: invalid
not found...
NO OBJECT FOUND!
NO MATCH: name.edu
Domain not found
no entries found.
The domain name.com.fj was not found!
%% No entries found in the AFNIC Database.
The domain has not been registered.
%ERROR: no entries found
Nincs talalat / No match
DOMAIN NOT FOUND
% Not Registered - The domain you have requested is not a registered .ie domain name.
% No data was found to match the request criteria.
The domain name.im was not found.
%ERROR:101: no entries found
% No entries found for query "name.is".
No match!!
No match found
Data not found. This domain is available for registration
The requested domain was not found in the Registry or Registrar's WHOIS Server.
*** Nothing found for this query.
This Domain is not available in our whois database
% No such domain
% No Objects Found
No match for name.md
Domain Name [name.my] does not exist in database
No_Se_Encontro_El_Objeto/Object_Not_Found
% Object not found
No entries found in the .nc database
name.nl is free
NO MATCH for domain "name.nu"
domain "name.se" not found.
query_status: 220 Available
Domain not found: name.pk
No information available about domain name name.pl in the Registry NASK database.
The domain name.pr is not registered.
name.pt no match
name.pt - No Match
%ERROR:103: Domain is not registered
No Match for name.sa
Domain Not Found.
Not found.
No entries found in ST domain database
Not found: name.tel
% No match for "name.th".
No records found for object name.tj
Invalid query or domain name not known in Dot TK Domain Registry
Domain name.tm is available for purchase
** No match found
No match found for "name.com.tr"
** Registrant: No match found
No Found
% No entries found for domain name.ua
No match for "name.uk".
This domain name has not been registered.
Sorry, but domain: "name.uz", not found in database
No match for domain "name.ve".
Domain name.vg is not registered.
Available
Available / Domain: name.co.za
% This query returned 0 objects.
Query not found
No Domain exists for the Domain Name provided
no matching objects found
No Object Found
Object not found
object does not exist
Domain Name not found
Domain name name.xx is not registered
name.xx is not registered
name.xx does not exist
name.xx is available for registration
name.xx: not found
name.xx: available
name.xx not registered
No such domain name.xx
No record found
No records found.
no record found for "name.xx"
No results found
0 results found
Nothing found
Domain is available
Domain is free
The domain name is available
The domain is not registered
This domain is available
This domain is not registered
Domain does not exist
Domain name does not exist
Status: free
State: AVAILABLE
status: no object found
Domain Status: Available
Domain Status: free
Domain Status: Not Registered
Domain Status: Unregistered
Domain: name.lt / Status: available
Domain: name.de / Status: free
El dominio name.bo no existe
Dominio no encontrado
El dominio no existe
Dominio disponible
El dominio name.xx está disponible
Domínio não encontrado
Dominio libre
Ce domaine est libre
Aucun enregistrement trouvé
Domaine non trouvé
Domaine inconnu
Le nom de domaine n'existe pas
Dominio non trovato
Nessun dato trovato
Domain nicht gefunden
Die Domain ist frei
Kein Eintrag gefunden
Домен не найден
Домен свободен
Домен не зарегистрирован
Записи не найдены
Domena wolna
Nie znaleziono domeny
Alan adı bulunamadı
Kayıt bulunamadı
ドメイン名は登録されていません
该域名未注册
未找到
查無此網域
검색된 결과가 없습니다
Error: domain not found
ERROR: object not found
error: No entries found
%% no entries found
%% NOT FOUND
No match for nameserver "x"
The queried object does not exist: name.xx
The queried object does not exist: No match for name.xx
The queried object does not exist: DOMAIN NOT FOUND
Requested domain does not exist
requested object not found
Domain Name: name.xx / Status: No match
No data found for name.xx
No information was found matching that query.
no information found
No whois information found.
No whois data for name.xx
No entry found
No entry in database
Not in database
Not in use
Unknown domain
unknown domain name
Domain unknown
domain name.xx has no entry
not exist
NotFound
Not_found
The domain name.xx is available
The domain you requested is not known
name.xx has not been registered
>>> Domain name.xx is available for registration
name.xx is unregistered
name.xx is unassigned
name.xx no records found
"name.xx" not found
'name.xx' not found.
Can't find domain name.xx
Cannot find domain
Could not find name.xx
Unable to find domain
We were unable to locate name.xx
No domain found
no domain data
There is no record for name.xx
There are no records for name.xx
Your search returned no results
Your query returned no results
No Matching Record
no se encontraron resultados
Record not found
Entry not found
Registration status: not registered
Registration Status: Available
The domain name you requested has not been registered
`

const THROTTLED = `
WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG/WHOIS FOR DETAILS
Number of allowed queries exceeded.
Your query limit has been exceeded
You have exceeded this limit
Quota exceeded
% WHOIS query rate limit exceeded
Excessive querying, grace period of 178 seconds.
IP Address Has Reached Rate Limit
You have been banned for abuse.
Blacklisted: 192.0.2.1
#This IP address has been blocked due to excessive use
Queries from your IP address are blocked
Sorry, too many queries
The maximum number of requests per second has been exceeded
-1: Quota exceeded
Still in grace period, wait 12 seconds
% request rate limited
rate limited
Request limit reached
Lookup quota exceeded
Please slow down
Please wait a while and try again
server is busy now
Server can't process your request now
Too many connection attempts
Connection limit exceeded
Max connections reached
Unable to serve your request at this time
503 Service unavailable
Service temporarily unavailable
% Maximum query rate reached
Maximum Daily connection limit reached. Lookup refused.
% Denied, too many requests
%% Too many requests...
Query rate exceeded
You are querying too fast
Queries per hour exceeded
Your connection limit exceeded. Please slow down and try again later.
ERROR: Query limit exceeded for your IP
Access denied
You are not allowed to connect
Ha excedido el límite de consultas
Se alcanzó el límite: la cuota fue superada
Demasiadas consultas, intente más tarde
Trop de requêtes
Quota de requêtes dépassé
Troppe richieste
Zu viele Anfragen
Превышен лимит запросов
Слишком много запросов
%ERROR:201: access denied for 192.0.2.1
% Query interval too short
Looup quota exceeded
whois.domain-registry.test: only 1 request per second allowed, try again later
daily whois-limit exceeded for client 192.0.2.1
query_status: 440 Request Denied
% Error: 55000000002 Connection refused; access control limit exceeded
The WHOIS query quota for 192.0.2.1 has been exceeded and will be replenished in 50 seconds.
BLACKLISTED: You have exceeded the query limit for your network or IP address.
Access to this service has been blocked
Your request is being rate limited
You have reached the maximum allowed lookups
Usage limit exceeded
Daily limit exceeded
Try again in 60 seconds
Please try again after 5 minutes
% Your access is too fast,please try again later.
Over quota
You exceeded your hourly quota
Exceeded maximum number of whois queries
Requests of this client are not permitted. Please use https://www.nic.ch/whois/ for queries.
Abuse detected
Query refused
Refused
Forbidden
`

const FAULTS = `
Temporary failure
Internal server error
Database error
Timeout
Error: could not connect to database
Whois server is currently down for maintenance
`

function repliesOf(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(' / ', '\n'))
}

test.each(repliesOf(FREE))('free: %j', (reply) => {
  expect(parseWhois(`${reply}\r\n`)).toMatchObject({ registered: false, throttled: false })
})

test.each(repliesOf(THROTTLED))('throttled, and nothing about the name: %j', (reply) => {
  expect(parseWhois(`${reply}\r\n`)).toMatchObject({ registered: null, throttled: true })
})

test.each(repliesOf(FAULTS))('a fault of the server says nothing of the name: %j', (reply) => {
  expect(parseWhois(`${reply}\r\n`).registered).toBeNull()
})

const NO_WORD = `
No such host is known
No whois server is known for this kind of object.
This TLD has no whois server
not authoritative for this domain
Domain not served here
Invalid domain name
Malformed request
unknown option
Only .test domains are supported
Domain registration is not possible
Name server not found: ns1.name.test
Host not found
Error: host not found
Unable to find host
cannot find server
Cannot locate whois server for name.test
service not found
command not found
404 Not Found
HTTP/1.1 404 Not Found
<html><head><title>404 Not Found</title></head><body>Domain not found</body></html>
Registrar not found
Contact not found
No matching server
WHOIS data not available
No data available at this time, please retry
Domain not available
Domain is not available
name.test is not available for registration
`

test.each(repliesOf(NO_WORD))('nothing about the name: %j', (reply) => {
  expect(parseWhois(`${reply}\r\n`).registered).toBeNull()
})

test.each([
  'Queries are rate limited.',
  'Access to this data is restricted to lawful purposes.',
  'The number of queries is limited to 100 an hour.',
  'Whoever exceeds it will be blocked.',
  'Use of this service is governed by the terms at https://registry.test/legal',
])('a notice next to the answer does not hide it: %s', (notice) => {
  expect(parseWhois(`% ${notice}\n\nNot found: name.test\n`).registered).toBe(false)
  expect(parseWhois(`Domain: name.test\nOwner: Somebody\n\n% ${notice}\n`).registered).toBe(true)
})

test('the end of a sentence of the legal terms is no answer', () => {
  const terms =
    'Whoever asks for more than a fair share of the records may find himself\nblacklisted 3 days.'
  const more = 'The terms of use of this service are those that the registry makes\navailable.'
  expect(parseWhois(`${terms}\n\nNot found: name.test\n`).registered).toBe(false)
  expect(parseWhois(`${more}\n\nDomain: name.test\nOwner: Somebody\n`).registered).toBe(true)
  expect(parseWhois(`${more}\n`).registered).toBeNull()
})
