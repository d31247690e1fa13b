import type { ExportCase } from './exports-fixture.ts'

/** Exports of mailing programs, as they write them. */
export const MAILING_EXPORTS: readonly ExportCase[] = [
  {
    name: 'Mailchimp',
    header:
      'Email Address,First Name,Last Name,Address,Phone Number,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,LAST_CHANGED,LEID,EUID,NOTES,TAGS',
    row: 'ann@firm.example,Ann,Lee,,+442079460958,2,2026-01-01 10:00:00,192.0.2.8,2026-01-01 10:00:00,192.0.2.7,51.5073509,-0.1277583,0,1,Europe/London,GB,ENG,2026-01-01 10:00:00,123456789,abc1,,',
    email: 'Email Address',
    phone: 'Phone Number',
    ip: 'OPTIN_IP|CONFIRM_IP',
  },
  {
    name: 'Mailchimp unsubscribed',
    header:
      'Email Address,First Name,Last Name,UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_REASON,UNSUB_REASON_OTHER,LEID,EUID',
    row: 'ann@firm.example,Ann,Lee,2026-01-01 10:00:00,News,NORMAL,,123456789,abc1',
    email: 'Email Address',
  },
  {
    name: 'Klaviyo profiles',
    header:
      'Klaviyo ID,Email,Phone Number,First Name,Last Name,Organization,City,Country,Latitude,Longitude,IP Address,Email Marketing Consent,Email Marketing Consent Timestamp,SMS Marketing Consent,Email Suppressions,Email List Suppressions,First Active,Last Active,Profile Created On,Last Open,Last Click,Accepts Marketing',
    row: '01ABC,ann@firm.example,+442079460958,Ann,Lee,Firm,London,UK,51.5073,-0.1278,192.0.2.7,SUBSCRIBED,2026-01-01 10:00:00,NEVER_SUBSCRIBED,[],[],2026-01-01 10:00:00,2026-01-01 10:00:00,2026-01-01 10:00:00,,,true',
    email: 'Email',
    phone: 'Phone Number',
    ip: 'IP Address',
  },
  {
    name: 'Brevo',
    header:
      'CONTACT ID;EMAIL;FIRSTNAME;LASTNAME;SMS;WHATSAPP;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME;MODIFIED_TIME;DOUBLE_OPT-IN;OPT_IN',
    row: '12;ann@firm.example;Ann;Lee;447700900123;;No;No;01-01-2026 10:00:00;01-01-2026 10:00:00;1;',
    email: 'EMAIL',
    phone: 'SMS|WHATSAPP',
  },
  {
    name: 'Sendinblue blocked contacts',
    header: 'Email;Blacklisted email;Email blocked reason;Email unsubscribed date;Blocked at',
    row: 'ann@firm.example;Yes;hardBounce;01-01-2026;01-01-2026 10:00:00',
    email: 'Email',
  },
  {
    name: 'ActiveCampaign',
    header:
      'Id,Email,First Name,Last Name,Phone,Organization,Contact Score,IP Address,IP Address (Signup),Tags,Date Created,Email Disabled,Email Status,Bounced Emails Soft,Bounced Emails Hard',
    row: '4,ann@firm.example,Ann,Lee,020 7946 0958,Firm,10,192.0.2.7,192.0.2.8,,2026-01-01 10:00:00,0,Active,0,0',
    email: 'Email',
    phone: 'Phone',
    ip: 'IP Address|IP Address (Signup)',
  },
  {
    name: 'Constant Contact',
    header:
      'Email address,First name,Last name,Company,Job title,Email status,Email permission status,Email update source,Confirmed Opt-Out Date,Phone - home,Phone - mobile,Website,Email Lists,Source Name,Created At',
    row: 'ann@firm.example,Ann,Lee,Firm,CEO,Active,Implicit,Account,,,020 7946 0958,firm.example,News,API,2026-01-01 10:00',
    email: 'Email address',
    phone: 'Phone - home|Phone - mobile',
    domain: 'Website',
  },
  {
    name: 'MailerLite',
    header:
      'Subscriber,Name,Last name,Sent,Opens,Clicks,Subscribed,Location,Source,Signup IP,Opt-in IP,Confirmed at,Phone',
    row: 'ann@firm.example,Ann,Lee,10,4,1,2026-01-01 10:00:00,UK,api,192.0.2.7,192.0.2.8,2026-01-01 10:00:00,+442079460958',
    email: 'Subscriber',
    phone: 'Phone',
    ip: 'Signup IP|Opt-in IP',
  },
  {
    name: 'ConvertKit',
    header: 'id,first_name,email,status,created_at,tags,Last name,Company website',
    row: '1234567890,Ann,ann@firm.example,active,2026-01-01 10:00:00 UTC,,Lee,https://firm.example',
    email: 'email',
    domain: 'Company website',
  },
  {
    name: 'Drip',
    header:
      'email,status,created_at,visitor_uuid,time_zone,utc_offset,ip_address,original_referrer,landing_url,prospect,lead_score,eu_consent,first_name,phone,sms_number,email_opt_in',
    row: 'ann@firm.example,active,2026-01-01T10:00:00Z,abc,Europe/London,60,192.0.2.7,https://www.google.com/,https://our.example/start,true,30,granted,Ann,+442079460958,,yes',
    email: 'email',
    phone: 'phone|sms_number',
    ip: 'ip_address',
  },
  {
    name: 'Campaign Monitor',
    header:
      'Email Address,Name,Date,State,Consent to send email,Consent to track,Email client,Clicks,Opens,Mobile Number',
    row: 'ann@firm.example,Ann Lee,2026-01-01 10:00,Active,Yes,Unchanged,Gmail,1,4,+447700900123',
    email: 'Email Address',
    phone: 'Mobile Number',
  },
  {
    name: 'GetResponse',
    header:
      'contact_id,email,name,campaign_name,created_on,ip_address,origin,day_of_cycle,changed_on,mobile_phone,url,engagement_score',
    row: 'abc,ann@firm.example,Ann,news,2026-01-01 10:00:00,192.0.2.7,api,0,2026-01-01 10:00:00,+447700900123,https://firm.example,3',
    email: 'email',
    phone: 'mobile_phone',
    ip: 'ip_address',
    domain: 'url',
  },
  {
    name: 'SendGrid contacts',
    header:
      'FIRST_NAME,LAST_NAME,EMAIL,ALTERNATE_EMAILS,PHONE_NUMBER_ID,PHONE_NUMBER,WHATSAPP,CITY,CREATED_AT,UPDATED_AT,CONTACT_ID,EMAIL_DOMAINS,LAST_EMAILED,LAST_OPENED',
    row: 'Ann,Lee,ann@firm.example,ann@home.example,,+442079460958,,London,2026-01-01T10:00:00Z,2026-01-01T10:00:00Z,9f8e,firm.example,2026-01-01T10:00:00Z,',
    email: 'EMAIL|ALTERNATE_EMAILS',
    phone: 'PHONE_NUMBER|WHATSAPP',
    domain: 'EMAIL_DOMAINS',
  },
  {
    name: 'SendGrid bounces',
    header: 'status,reason,email,created,ip,email_provider',
    row: '5.1.1,550 no such user,ann@firm.example,1767261600,192.0.2.7,gmail',
    email: 'email',
    ip: 'ip',
  },
  {
    name: 'AWeber',
    header:
      'Email,Name,Ad Tracking,Misc Notes,IP Address,Date Added,Time Added,Subscription Status,Verified Date,Unsubscribe Date,Last Email Opened,Last Followup Date,Country,Latitude,Longitude,Stop Time',
    row: 'ann@firm.example,Ann Lee,,,192.0.2.7,01/01/26,10:00,subscribed,01/01/26,,01/02/26,,UK,51.50735,-0.12776,',
    email: 'Email',
    ip: 'IP Address',
  },
  {
    name: 'Sendy',
    header: 'Name,Email,Last activity,Status,IP address,Country,Referrer,Email confirmed,GDPR',
    row: 'Ann,ann@firm.example,2026-01-01,Active,192.0.2.7,UK,https://our.example,1,yes',
    email: 'Email',
    ip: 'IP address',
  },
  {
    name: 'Customer.io',
    header:
      'cio_id,id,email,created_at,unsubscribed,email_verified,last_email_sent,email_address_status,phone,timezone',
    row: 'a1b2,77,ann@firm.example,1767261600,false,true,1767261600,ok,+442079460958,Europe/London',
    email: 'email',
    phone: 'phone',
  },
  {
    name: 'Iterable',
    header:
      'email,emailListIds,emailDomain,subscribedMessageTypeIds,unsubscribedChannelIds,signupDate,phoneNumber,ip,emailSends,profileUpdatedAt,disabledEmail',
    row: 'ann@firm.example,[1],firm.example,[],[],2026-01-01 10:00:00,+442079460958,192.0.2.7,4,2026-01-01 10:00:00,false',
    email: 'email',
    phone: 'phoneNumber',
    ip: 'ip',
    domain: 'emailDomain',
  },
  {
    name: 'Omnisend',
    header:
      'Email,Email status,Email status date,Email opt-in source,Phone,SMS status,First name,Last name,Country,Gender,Tags,Total emails sent,Last email opened at',
    row: 'ann@firm.example,subscribed,2026-01-01,form,447700900123,nonSubscribed,Ann,Lee,UK,f,,4,2026-01-01',
    email: 'Email',
    phone: 'Phone',
  },
  {
    name: 'CleverReach in German',
    header:
      'E-Mail;Vorname;Nachname;Registriert;Aktiviert;Abgemeldet;Quelle;E-Mail gesperrt;Letzte E-Mail am;Newsletter-Anmeldung IP',
    row: 'ann@firm.example;Ann;Lee;01.01.2026 10:00;01.01.2026 10:00;;Import;nein;01.01.2026;192.0.2.7',
    email: 'E-Mail',
    ip: 'Newsletter-Anmeldung IP',
  },
  {
    name: 'French mailing list',
    header:
      "Civilité;Nom;Prénom;Courriel;Téléphone portable;Téléphone fixe;Site web;Date d'inscription;E-mail désabonné;Date du dernier e-mail",
    row: 'Mme;Lee;Ann;ann@firm.example;06 12 34 56 78;01 23 45 67 89;www.firm.example;01/01/2026;non;01/01/2026',
    email: 'Courriel',
    phone: 'Téléphone portable|Téléphone fixe',
    domain: 'Site web',
  },
  {
    name: 'Spanish customers',
    header:
      'Nombre;Apellidos;Correo;Correo verificado;Móvil;Teléfono fijo;Sitio web;Fecha de alta;Dirección IP',
    row: 'Ann;Lee;ann@firm.example;sí;612 345 678;911 234 567;firm.example;01/01/2026;192.0.2.7',
    email: 'Correo',
    phone: 'Móvil|Teléfono fijo',
    ip: 'Dirección IP',
    domain: 'Sitio web',
  },
  {
    name: 'Italian customers',
    header:
      'Nome;Cognome;Indirizzo e-mail;E-mail confermata;Cellulare;Telefono;Sito internet;Iscritto il',
    row: 'Ann;Lee;ann@firm.example;si;340 1234567;06 12345678;www.firm.example;01/01/2026',
    email: 'Indirizzo e-mail',
    phone: 'Cellulare|Telefono',
    domain: 'Sito internet',
  },
  {
    name: 'Dutch customers',
    header:
      'Voornaam;Achternaam;E-mailadres;E-mail geblokkeerd;Mobiel nummer;Telefoonnummer;Website;Datum laatste e-mail',
    row: 'Ann;Lee;ann@firm.example;nee;06 12345678;020 1234567;www.firm.example;01-01-2026',
    email: 'E-mailadres',
    phone: 'Mobiel nummer|Telefoonnummer',
    domain: 'Website',
  },
  {
    name: 'Portuguese customers',
    header:
      'Nome;Sobrenome;E-mail;E-mail confirmado;Celular;Telefone;Página da Web;Data de cadastro',
    row: 'Ann;Lee;ann@firm.example;sim;(11) 91234-5678;(11) 1234-5678;firm.example;01/01/2026',
    email: 'E-mail',
    phone: 'Celular|Telefone',
    domain: 'Página da Web',
  },
  {
    name: 'Polish customers',
    header:
      'Imię;Nazwisko;Adres e-mail;Zgoda na e-mail;Telefon komórkowy;Telefon stacjonarny;Strona internetowa;Data rejestracji;Adres IP',
    row: 'Ann;Lee;ann@firm.example;tak;601 234 567;22 123 45 67;www.firm.example;2026-01-01;192.0.2.7',
    email: 'Adres e-mail',
    phone: 'Telefon komórkowy|Telefon stacjonarny',
    ip: 'Adres IP',
    domain: 'Strona internetowa',
  },
]
