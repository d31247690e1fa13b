import type { ExportCase } from './exports-fixture.ts'

/** Exports of shops, events, forms and help desks, as their programs write them. */
export const SHOP_EXPORTS: readonly ExportCase[] = [
  {
    name: 'Shopify customers',
    header:
      'Customer ID,First Name,Last Name,Email,Accepts Email Marketing,Default Address Company,Default Address Phone,Phone,Accepts SMS Marketing,Total Spent,Total Orders,Note,Tax Exempt,Tags',
    row: "'7123456789012,Ann,Lee,ann@firm.example,yes,Firm,'+442079460958,'+447700900123,no,120.50,3,,no,",
    email: 'Email',
    phone: 'Phone|Default Address Phone',
  },
  {
    name: 'Shopify orders',
    header:
      'Name,Email,Financial Status,Paid at,Accepts Marketing,Currency,Subtotal,Total,Billing Name,Billing Zip,Billing Phone,Shipping Name,Shipping Zip,Shipping Phone,Payment Reference,Phone,Id',
    row: '#1001,ann@firm.example,paid,2026-01-01 10:00:00 +0000,yes,GBP,10.00,12.00,Ann Lee,SW1A 1AA,020 7946 0958,Ann Lee,SW1A 1AA,020 7946 0958,c123456.1,,5123456789012',
    email: 'Email',
    phone: 'Billing Phone|Shipping Phone|Phone',
  },
  {
    name: 'WooCommerce orders',
    header:
      'Order Number,Order Date,Customer Note,First Name (Billing),Email (Billing),Phone (Billing),Email (Shipping),Postcode (Billing),Customer IP address,Order Total Amount,Email sent',
    row: '1001,2026-01-01 10:00,,Ann,ann@firm.example,02079460958,,SW1A 1AA,192.0.2.7,12.00,yes',
    email: 'Email (Billing)|Email (Shipping)',
    phone: 'Phone (Billing)',
    ip: 'Customer IP address',
  },
  {
    name: 'Magento customers',
    header:
      'email,_website,_store,confirmation,created_at,created_in,disable_auto_group_change,dob,firstname,lastname,group_id,password_hash,_address_telephone,_address_postcode',
    row: 'ann@firm.example,base,default,,2026-01-01 10:00:00,Default,0,,Ann,Lee,1,abc:def,02079460958,SW1A 1AA',
    email: 'email',
    phone: '_address_telephone',
  },
  {
    name: 'Stripe customers',
    header:
      'id,Description,Email,Name,Created (UTC),Delinquent,Card ID,Card Last4,Card Brand,Total Spend,Payment Count,Phone,Address Line1,ip_address (metadata),email_verified (metadata)',
    row: 'cus_x,,ann@firm.example,Ann Lee,2026-01-01 10:00,false,card_x,4242,Visa,12.00,1,+442079460958,1 High St,192.0.2.7,true',
    email: 'Email',
    phone: 'Phone',
    ip: 'ip_address (metadata)',
  },
  {
    name: 'PayPal activity',
    header:
      'Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,From Email Address,To Email Address,Transaction ID,Contact Phone Number',
    row: '01/01/2026,10:00:00,GMT,Ann Lee,Payment,Completed,GBP,12.00,-0.50,11.50,ann@firm.example,our@shop.example,9AB12345CD678901E,02079460958',
    email: 'From Email Address|To Email Address',
    phone: 'Contact Phone Number',
  },
  {
    name: 'Intercom',
    header:
      'Name,Owner,Email,Phone,User ID,First Seen (GMT),Last seen (GMT),Web sessions,City,Country,Browser Language,Unsubscribed from Emails,Marked email as spam,Has hard bounced,Last contacted (GMT),Last opened email (GMT),Last clicked on link in email (GMT),Domain,Referral URL',
    row: 'Ann Lee,Bo Ek,ann@firm.example,+442079460958,u7,2026-01-01 10:00:00,2026-01-01 10:00:00,3,London,UK,en,false,false,false,,2026-01-01 10:00:00,,firm.example,https://www.google.com/',
    email: 'Email',
    phone: 'Phone',
    domain: 'Domain',
  },
  {
    name: 'Zendesk users',
    header:
      'ID,Name,Email,External ID,Details,Notes,Phone,Role,Restriction,Organization,Tags,Brand,Verified,Suspended,Last login,Email verified,Time zone',
    row: '412345678901,Ann Lee,ann@firm.example,,,,+442079460958,end-user,requested,Firm,,1,true,false,2026-01-01,true,London',
    email: 'Email',
    phone: 'Phone',
  },
  {
    name: 'Eventbrite attendees',
    header:
      'Order #,Order Date,First Name,Last Name,Email,Quantity,Price Tier,Ticket Type,Attendee #,Buyer Last Name,Buyer First Name,Buyer Email,Cell Phone,Website,IP Location,Email delivery status',
    row: '1234567890,2026-01-01 10:00:00+00:00,Ann,Lee,ann@firm.example,1,,General,2345678901,Ek,Bo,bo@firm.example,07700 900123,firm.example,London,delivered',
    email: 'Email|Buyer Email',
    phone: 'Cell Phone',
    domain: 'Website',
  },
  {
    name: 'Typeform',
    header:
      '#,What is your name?,What is your email address?,What is your phone number?,May we send you emails?,What is your company website?,Start Date (UTC),Submit Date (UTC),Network ID',
    row: 'a1b2,Ann,ann@firm.example,020 7946 0958,1,firm.example,2026-01-01 10:00:00,2026-01-01 10:01:00,f00d',
    email: 'What is your email address?',
    phone: 'What is your phone number?',
    domain: 'What is your company website?',
  },
  {
    name: 'Google Forms',
    header:
      'Timestamp,Email Address,Your name,Your mobile number (with country code),How often would you like to get emails?',
    row: '1/1/2026 10:00:00,ann@firm.example,Ann,+447700900123,Weekly',
    email: 'Email Address',
    phone: 'Your mobile number (with country code)',
  },
  {
    name: 'Calendly',
    header:
      'User Name,User Email,Invitee Name,Invitee First Name,Invitee Email,Invitee Time Zone,Text Reminder Number,Event Type Name,Start Date & Time,Location,Event Created Date & Time,Guest Email(s),UTM Source',
    row: 'Bo Ek,bo@our.example,Ann Lee,Ann,ann@firm.example,Europe/London,+447700900123,Intro,2026-01-01 10:00 am,Zoom,2026-01-01 09:00 am,,',
    email: 'User Email|Invitee Email|Guest Email(s)',
    phone: 'Text Reminder Number',
  },
  {
    name: 'Facebook lead ads',
    header:
      'id,created_time,ad_id,ad_name,campaign_name,form_id,is_organic,platform,email,full_name,phone_number,company_name,inbox_url,lead_status',
    row: 'l:123456789012345,2026-01-01T10:00:00+00:00,ag:1,Ad,Spring,f:9,false,fb,ann@firm.example,Ann Lee,p:+442079460958,Firm,https://business.facebook.com/latest/123,CREATED',
    email: 'email',
    phone: 'phone_number',
  },
  {
    name: 'Zoom webinar report with lines above',
    header:
      'Attendee Report\nReport Generated:,01/01/2026 10:00\nTopic,Intro to us\n\nUser Name,First Name,Last Name,Email,Phone,Registration Time,Approval Status,Country/Region Name,Source Name',
    row: 'Ann Lee,Ann,Lee,ann@firm.example,02079460958,01/01/2026 09:00,approved,UK,Web',
    email: 'Email',
    phone: 'Phone',
  },
  {
    name: 'WordPress users',
    header:
      'ID,user_login,user_pass,user_nicename,user_email,user_url,user_registered,user_activation_key,user_status,display_name,billing_phone,last_ip,email_notifications',
    row: '7,ann,$P$x,ann,ann@firm.example,https://firm.example,2026-01-01 10:00:00,,0,ann@firm.example,02079460958,192.0.2.7,1',
    email: 'user_email',
    phone: 'billing_phone',
    ip: 'last_ip',
    domain: 'user_url',
  },
  {
    name: 'Auth0 users',
    header:
      'user_id,email,email_verified,name,nickname,picture,created_at,updated_at,last_ip,last_login,logins_count,phone_number,phone_verified,blocked',
    row: 'auth0|1,ann@firm.example,true,Ann Lee,ann,https://s.gravatar.com/avatar/x,2026-01-01T10:00:00.000Z,2026-01-01T10:00:00.000Z,192.0.2.7,2026-01-01T10:00:00.000Z,3,+442079460958,false,false',
    email: 'email',
    phone: 'phone_number',
    ip: 'last_ip',
  },
  {
    name: 'Google Workspace users',
    header:
      'First Name [Required],Last Name [Required],Email Address [Required],Password [Required],Org Unit Path [Required],New Primary Email [Upload Only],Status [READ ONLY],Last Sign In [READ ONLY],Recovery Email,Home Secondary Email,Work Phone,Recovery Phone [MUST BE IN THE E.164 FORMAT],Email Usage [READ ONLY]',
    row: 'Ann,Lee,ann@firm.example,****,/,,Active,2026/01/01 10:00:00,ann@home.example,,020 7946 0958,,1.2GB',
    email:
      'Email Address [Required]|New Primary Email [Upload Only]|Recovery Email|Home Secondary Email',
    phone: 'Work Phone|Recovery Phone [MUST BE IN THE E.164 FORMAT]',
  },
  {
    name: 'web server log',
    header: 'time,client_ip,method,host,path,status,user_agent,referer,bytes',
    row: '2026-01-01T10:00:00Z,192.0.2.7,GET,shop.example,/cart,200,Mozilla/5.0,https://www.google.com/,5120',
    ip: 'client_ip',
    domain: 'host',
  },
]
