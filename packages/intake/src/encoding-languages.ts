/** A language whose text files use legacy encodings, with samples of its writing. */
export interface Language {
  /** BCP 47. */
  readonly tag: string
  /**
   * `latin` is also recognized by its ASCII letters; `wide` writings have thousands of characters,
   * each a word or syllable.
   */
  readonly writing: 'latin' | 'letters' | 'wide'
  /** Words that are frequent in names and addresses but not in names of countries. */
  readonly seeds: string
}

const CHINESE =
  '王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢' +
  '伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀英华慧巧美娥玲芬燕彩春菊兰凤洁梅琳素云莲真环雪荣爱妹霞香月莺媛' +
  '北京上海广州深圳天津重庆成都杭州武汉西安南京省市区县路街道号楼室层村镇大厦公司有限科技股份集团先生女士小姐经理客户'
const CHINESE_TRADITIONAL =
  '王李張劉陳楊黃趙吳周徐孫馬朱胡郭何林高羅鄭梁謝宋唐許鄧馮韓曹曾彭蕭蔡潘田董袁余葉蔣杜蘇魏程呂丁沈任姚盧' +
  '偉芳娜敏靜麗強磊軍洋勇艷傑娟濤明超秀英華慧美玲芬燕春蘭鳳潔梅雲雪榮愛霞香月家豪志雅婷怡君' +
  '台北高雄台中台南新竹桃園省市區縣路街道號樓室層村鎮段巷弄公司有限科技股份集團先生小姐經理客戶'
const JAPANESE =
  '佐藤鈴木高橋田中伊渡辺山本村小林加吉松井清水森池阿部石川前岡長谷後近遠青坂西福太三原上野武内金子和久保' +
  '健一郎次子美智恵由紀真明正博之幸浩大輔翔結衣陽菜花東京都大阪府市区町県丁目番地号北海道横浜名古屋神奈埼玉千葉' +
  '株式会社有限様会員部長課長の にはをがでとしたれさいるあすこもなくてよりまきつけせんかりえおそたちっつとのはひふまみやゆよらりるれろわをん'
const KOREAN =
  '김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민지수현준영은진혜미경숙희순호상철' +
  '서울특별시부산광역시대구인천광주대전울산경기도강원충청북남전라제주구군읍면동로길번지아파트호주식회사대표님고객'

const GERMAN = latin(
  'de',
  'Straße Hauptstraße Bahnhofstraße Schröder Köhler Böhm Jäger Krüger Lösch Günther Jörg Thäter Nürnberg München Köln Lübeck Tübingen Österreich Gößling Fröhlich Süß Grün Schönberg Händler Geschäft Überlingen Ärztin Straßburg für Bücher Möbel',
)
const POLISH = latin(
  'pl',
  'Kowalczyk Kamiński Zieliński Lewandowska Michał Paweł Stanisław Wrocław Poznań Częstochowa Żółkiewski Łęcki ulica Księcia Józefa Górska Ćwikła Źródło Święta Mąka Jastrzębska Grażyna Rzeszów Toruń Piłsudskiego Marszałkowska Śląsk Żeromskiego',
)
const CZECH = latin(
  'cs',
  'Svoboda Novotný Procházka Kučera Veselý Horák Pokorný Hájek Jelínek Růžena Zdeněk Miloš Štěpán Vojtěch Jaroslav Třebíč Ústí Jihlava Děčín Příbram ulice Nádražní Školní Křížová Žďár Čech Šťastný Pěkný Hoření Řehoř Květa Olomouc',
)

/** The languages that are distinguished, by the family of encodings that they use. */
export const LANGUAGES = {
  western: [
    GERMAN,
    latin(
      'fr',
      'rue avenue François Gérard André René Hélène Élodie Léa Zoé Jérôme Stéphane Frédéric Françoise Thérèse Agnès Noël Gaël Joël Châtelet Orléans Angoulême Béziers Crêperie Église Hôtel Hôpital Rhône Isère Île Génie Père Forêt Côte Château d’Azur l’Église première',
    ),
    latin(
      'es',
      'José María Jesús Ángel Íker Óscar Inés Andrés García López Martínez Sánchez Pérez Gómez Fernández González Jiménez Díaz Álvarez Hernández Gutiérrez Núñez Peña Ibáñez Muñiz Castaño Logroño España Cádiz Córdoba Almería Cáceres Ávila Mérida México Bogotá Número Piña Niño señora años compañía',
    ),
    latin(
      'pt',
      'João Antônio José Conceição Gonçalves Simões Guimarães Araújo Sebastião Assunção Mário Cláudia Lúcia Patrícia Fábio Flávia Vitória Goiânia Belém Maceió Ceará Maranhão São Irmãos Praça Avenida Três Irmã Câmara Município Comércio Informações Luís Gastão Leitão Falcão Inácio',
    ),
    latin(
      'it',
      'Nicolò Niccolò Libertà Università Città Società Forlì Cefalù Canicattì Gesù Trinità Carità Onestà Dalmò Roccò Mondovì Nardò Cantù Patrizî Salò Vanità Mercà lunedì martedì più perché è là virtù attività qualità Viale Via Piazza',
    ),
    latin(
      'nl',
      'België Daniël Joël Noël Zoë Chloë Michaël Raphaël Loïs Anaïs Coördinatie Reünie Israël Ruïne Brontë één Ideeën Gemeente van straat Oekraïne Italië',
    ),
    latin(
      'sv',
      'Åke Örjan Håkan Göran Björn Sören Åström Öberg Sjögren Lindström Nyström Söderberg Östlund Hägg Växjö Luleå Umeå Gävle Linköping Norrköping Skövde Malmö gatan vägen torget Ängelholm Årsta Bäck Åkesson Kärrö Hälsö Västra Östra Södra',
    ),
    latin(
      'da',
      'Søren Jørgen Bjørn Jørgensen Sørensen Kjærgaard Nørgaard Østergaard Bæk Mørk Kærgård Ålborg Århus Næstved Hillerød Køge Rødovre Tårnby Brønshøj Nørregade Østergade Vestergård Præstø Sønderborg Tønder Fanø Samsø Læsø Ærø på gård',
    ),
    latin(
      'nb',
      'Bjørn Øyvind Håkon Kåre Pål Ståle Tromsø Bodø Ålesund Sandnessjøen Trøndelag Sørlandet Østfold Ås Bærum Lillestrøm Hønefoss Råholt Årnes Sæther Sørli Grønland Bråten Nygård Åsgård Høgskole på vår Øvre',
    ),
    latin(
      'fi',
      'Päivi Väinö Yrjö Pälvi Hämäläinen Mäkinen Järvinen Mäkelä Lähteenmäki Jyväskylä Hämeenlinna Seinäjoki Hyvinkää Mäntsälä Töölö Äänekoski Ylöjärvi Pääskynen Kivelä Ylitörmä Pöllönen Särkkä Käpylä Kärki Vähä tie Mäki Pitkä',
    ),
    latin(
      'is',
      'Jón Guðmundur Sigurður Þór Þórunn Ásta Ólafur Björn Guðný Sæmundur Hörður Ægir Ingibjörg Jónsson Guðmundsdóttir Stefánsdóttir Þorsteinsson Kópavogur Hafnarfjörður Garðabær Selfoss Egilsstaðir Ísland Götu Þingvellir',
    ),
    latin(
      'ca',
      'Núria Àngel Òscar Martí Jordà Muntané Güell Lluís Josué València Lleó Mallorca Plaça Català Gràcia Sant Cugat del Vallès Benestar Sòria Roig',
    ),
  ],
  central: [
    POLISH,
    CZECH,
    latin(
      'sk',
      'Ľubomír Ľudmila Štefan Ďuriš Juraj Žofia Čadca Prešov Bratislava Banská Košická Ružomberok Považská Dubček Hlaváč Kráľ Kňaz Škoda Tóth Baláž Šťastná Nižná Trnava Ulica námestie Mesto Vŕšok Stĺp Kôň',
    ),
    latin(
      'hu',
      'Győző Ernő Jenő Dezső Rezső Gergő Szőke Erdős Szűcs Fűzfa Kőműves Győri Szőllősi Szabó Kovács Tóth Németh Gábor László István Zoltán Sándor Péter utca út tér körút Budapest Fő Debrecen Szeged Mezőkövesd Esztergom Tűzoltó Gyűjtő Főváros Úrhida Hűvös Őrség',
    ),
    latin(
      'ro',
      'Ştefan Gheorghiţă Mihăiţă Nicolae Ioniţă Rădulescu Vasilică Cătălina Mădălin Dănuţ Bucureşti Ploieşti Braşov Piteşti Bacău Galaţi Buzău Brăila Suceava Iaşi Constanţa Strada Şoseaua Bulevardul judeţul Mureş Timiş Argeş Tulcea Călăraşi Vâlcea Bistriţa Ţăndărei',
    ),
    latin(
      'hr',
      'Ivić Horvat Kovačević Babić Marić Jurić Novaković Božić Petrović Đurđica Đurić Željka Žarko Anđela Zagreb Čakovec Požega Osijek Poreč Šibenik Varaždin Križevci Ulica Cesta Vukovarska Ilića Šubić Jelačić Ružić Mađar Hodžić',
    ),
    latin(
      'sl',
      'Novak Krajnc Zupančič Kovačič Mlakar Žagar Štefančič Šuštar Božič Župančič Ljubljana Škofja Loka Črnomelj Žalec Cesta Trg Mojca Špela Žiga Nežka Češnjice Tržič Koroška Hočevar',
    ),
    GERMAN,
  ],
  cyrillic: [
    letters(
      'ru',
      'Иванов Смирнов Кузнецов Попов Соколов Лебедев Козлов Новиков Морозов Александр Дмитрий Алексей Ольга Татьяна Елена Наталья улица проспект дом город область район квартира ООО',
    ),
    letters(
      'uk',
      'Шевчук Бойко Ткаченко Кравченко Олійник Андрій Сергій Володимир Оксана Юлія Ірина вулиця місто область Їжакевич Євгенія Ґалаґан Київська Львівська',
    ),
    letters(
      'bg',
      'Георгиев Димитров Петров Николов Христов Стоянов Илиев Мария Елена Иван улица булевард град София Варна България Цветан Щерев Ъгъл',
    ),
    letters(
      'sr',
      'Јовановић Петровић Николић Марковић Ђорђевић Стојановић Илић Љубица Њего Џаја Београд Нови Сад улица',
    ),
    letters('mk', 'Петровски Николовски Ѓорѓиев Ќосев Скопје Битола улица Љупчо Џафер Ѕвезда'),
    letters('be', 'Іваноў Казлоў Новікаў Мінск вуліца Гродна Васілеўскі'),
  ],
  greek: [
    letters(
      'el',
      'Παπαδόπουλος Παπαδοπούλου Γεωργίου Ιωάννου Δημητρίου Νίκος Κώστας Γιάννης Μαρία Ελένη οδός λεωφόρος Αθήνα πλατεία Πειραιάς',
    ),
  ],
  turkish: [
    latin(
      'tr',
      'Yılmaz Kaya Demir Şahin Çelik Yıldız Yıldırım Öztürk Aydın Özdemir Arslan Doğan Kılıç Aslan Çetin Kara Koç Kurt Özkan Şimşek Ayşe Fatma Emine Hüseyin İbrahim İsmail Işık Sokağı Caddesi Mahallesi İzmir Diyarbakır Muğla Ağrı Kırşehir Şanlı Beyoğlu Kadıköy Üsküdar',
    ),
    GERMAN,
  ],
  hebrew: [
    letters(
      'he',
      'כהן לוי מזרחי פרץ ביטון דהן אברהם פרידמן יוסף משה דוד שרה רחוב שדרות תל אביב ירושלים חיפה',
    ),
  ],
  arabic: [
    letters(
      'ar',
      'محمد أحمد علي حسن حسين عبد الله عبدالرحمن خالد إبراهيم فاطمة عائشة مريم شارع مدينة حي القاهرة الرياض جدة دبي بن',
    ),
    letters('fa', 'محمدی حسینی احمدی رضایی کریمی خیابان تهران'),
  ],
  baltic: [
    latin(
      'lt',
      'Kazlauskas Petrauskas Jankauskienė Stankevičius Žukauskienė Paulauskaitė Šiauliai Vilnius Klaipėda Panevėžys gatvė Žemaičių Ąžuolų Mindaugo Rūta Eglė Živilė Šarūnas Kęstutis Žilvinas Giedrė Jūratė Kauno Žvėrynas Širvintos Mažvydo aikštė',
    ),
    latin(
      'lv',
      'Bērziņš Kalniņš Ozols Liepiņš Jānis Kārlis Līga Inga Ilze Mārtiņš Pēteris Rīga Liepāja Jūrmala Rēzekne Cēsis Ķengarags Šķūnis Brīvības iela Kļaviņa Zariņš Ģirts Ņina Andrejs Balodis Ventspils Ādaži Ērgļi',
    ),
    latin(
      'et',
      'Jüri Tõnu Põder Õunap Mägi Kõiv Rebane Tamm Sepp Pärnu Võru Jõhvi Põlva Tänav Kärdla Põldmaa Mõis Lõhmus Külli Ülle Öö Võsu',
    ),
    GERMAN,
  ],
  vietnamese: [
    latin(
      'vi',
      'Nguyễn Trần Lê Phạm Hoàng Huỳnh Phan Vũ Võ Đặng Bùi Đỗ Hồ Ngô Dương Lý Thị Văn Hữu Đức Minh Anh Thành phố Hồ Chí Minh Hà Nội Đà Nẵng Quận Phường Đường Huyện Tỉnh Công ty',
    ),
  ],
  thai: [
    letters(
      'th',
      'สมชาย สมหญิง ประเสริฐ วิชัย ศรี ใจดี ทอง แก้ว กรุงเทพมหานคร ถนน ซอย ตำบล อำเภอ จังหวัด เขต แขวง บริษัท จำกัด',
    ),
  ],
  japanese: [wide('ja', JAPANESE)],
  simplified: [wide('zh-Hans', CHINESE)],
  traditional: [wide('zh-Hant', CHINESE_TRADITIONAL)],
  korean: [wide('ko', KOREAN)],
} satisfies Record<string, readonly Language[]>

/** A family of languages that share encodings. */
export type LanguageFamily = keyof typeof LANGUAGES

function latin(tag: string, seeds: string): Language {
  return { tag, writing: 'latin', seeds }
}

function letters(tag: string, seeds: string): Language {
  return { tag, writing: 'letters', seeds }
}

function wide(tag: string, seeds: string): Language {
  return { tag, writing: 'wide', seeds }
}
