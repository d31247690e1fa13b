/** Names, streets and cities as in customer files. */
export interface People {
  readonly language: string
  /** Encodings that files of the language come in. */
  readonly encodings: readonly string[]
  readonly cells: readonly string[]
}

/** Ten for each language. */
export const PEOPLE: readonly People[] = [
  people(
    'German',
    'windows-1252 macintosh ibm850',
    'Jürgen Müller|Königstraße 12|Düsseldorf|Käthe Schäfer|Würzburg|Björn Weiß|Göttingen|Bäckerei Groß & Söhne|Große Bleichen 8|Zürich',
  ),
  people(
    'French',
    'windows-1252 macintosh ibm850',
    'François Lefèvre|Hélène Dupré|12, rue de la République|Besançon|Saint-Étienne|Benoît Gérard|Allée des Chênes|Société Générale d’Électricité|Nîmes|Cédric Grégoire',
  ),
  people(
    'Spanish',
    'windows-1252 macintosh ibm850',
    'José Núñez|María Muñoz|Calle Peñón 3|León|Íñigo Ibáñez|Begoña Rodríguez|A Coruña|Avenida de América|Málaga|Jesús Martín',
  ),
  people(
    'Portuguese',
    'windows-1252 macintosh ibm850',
    'João Magalhães|São Paulo|Rua da Conceição|Antônio Gonçalves|Brasília|Luís Simões|Guimarães|Avenida Três de Março|Inês Brandão|Florianópolis',
  ),
  people(
    'Italian',
    'windows-1252 macintosh',
    'Niccolò Fantò|Forlì|Via Libertà 5|Cefalù|Cantù|Società Agricola|Viale Università|Città di Castello|Nicolò Mancò|Via Vittorio Veneto, là',
  ),
  people(
    'Swedish',
    'windows-1252 macintosh ibm850',
    'Åsa Sjöberg|Göteborg|Malmö|Kungsgatan på höjden|Björn Åkerström|Örebro|Västerås|Jönköping|Märta Nyström|Södermalm',
  ),
  people(
    'Danish',
    'windows-1252 macintosh ibm850',
    'Søren Kjær|Ærøskøbing|Nørrebrogade 12|Århus|Jørgen Ørsted|Bjørn Sørensen|Helsingør|Lærke Østergaard|Vejlevej på Fanø|Kærby',
  ),
  people(
    'Norwegian',
    'windows-1252 macintosh',
    'Øystein Bråthen|Tromsø|Ålesund|Bjørg Sæther|Håkon Nygård|Bodø|Storgata på Lillehammer|Kåre Grønli|Åse Hætta|Ørland',
  ),
  people(
    'Finnish',
    'windows-1252 macintosh',
    'Väinö Mäkelä|Jyväskylä|Hämeenkatu 4|Päivi Hämäläinen|Seinäjoki|Töölö|Yrjö Järvinen|Hyvinkää|Kärkkäinen|Äänekoski',
  ),
  people(
    'Icelandic',
    'windows-1252',
    'Guðrún Jónsdóttir|Reykjavík|Þórður Sigurðsson|Hafnarfjörður|Ólafur Ragnarsson|Björk Guðmundsdóttir|Akureyri, Þingvallastræti|Kópavogur|Ísafjörður|Sæunn Þórisdóttir',
  ),
  people(
    'Dutch',
    'windows-1252 macintosh',
    'Zoë van den Berg|Daniël Visser|Coördinator|Reünie|Loïs Brontë|België|Noël Jansen|Chloë de Vries|Faraïlde|Michaël',
  ),
  people(
    'Polish',
    'windows-1250 iso-8859-2 ibm852',
    'Łukasz Wójcik|Świętokrzyska 14|Małgorzata Wiśniewska|Kraków|Gdańsk|Zbigniew Żak|Łódź|Krzysztof Dąbrowski|Bielsko-Biała|Agnieszka Jabłońska',
  ),
  people(
    'Czech',
    'windows-1250 iso-8859-2 ibm852',
    'Jiří Dvořák|Plzeň|Tomáš Novák|Hradec Králové|Václavské náměstí|Lucie Černá|Ondřej Růžička|České Budějovice|Kateřina Němcová|Žižkov',
  ),
  people(
    'Slovak',
    'windows-1250 iso-8859-2',
    'Ľudovít Štúr|Košice|Žilina|Peter Kováč|Nové Mesto nad Váhom|Zuzana Šimková|Trenčín|Hlavná ulica|Ján Ďurica|Trnávka',
  ),
  people(
    'Hungarian',
    'windows-1250 iso-8859-2',
    'Győző Szűcs|Győr|Erzsébet Szőke|Székesfehérvár|Ferenc Gyurcsány|Kőbánya|Petőfi Sándor utca|Hódmezővásárhely|Zsófia Erdős|Nyíregyháza',
  ),
  people(
    'Croatian',
    'windows-1250 iso-8859-2',
    'Željko Božić|Šibenik|Ivana Kovačević|Đorđe Jurić|Poreč|Marija Šimić|Trg bana Jelačića|Čakovec|Požega|Luka Perišić',
  ),
  people(
    'Romanian',
    'windows-1250 iso-8859-2',
    'Ştefan Ionescu|Iaşi|Braşov|Bucureşti|Mădălina Pîrvu|Timişoara|Strada Mihai Viteazu, Constanţa|Cătălin Dănilă|Târgu Mureş|Gheorghe Ţurcan',
  ),
  people(
    'Russian',
    'windows-1251 koi8-r ibm866 iso-8859-5 maccyrillic',
    'Иван Петров|Екатеринбург|ул. Ленина, д. 5|Анна Кузнецова|Нижний Новгород|Сергей Щербаков|Проспект Мира|ООО «Ромашка»|Юлия Воробьёва|Казань',
  ),
  people(
    'Ukrainian',
    'windows-1251 koi8-u',
    'Олексій Шевченко|Київ|Львів|вул. Хрещатик|Наталія Коваленко|Ївга Бондаренко|Запоріжжя|Дніпро|Євген Лисенко|Чернігів',
  ),
  people(
    'Bulgarian',
    'windows-1251',
    'Георги Иванов|София|Пловдив|бул. Витоша|Мария Димитрова|Велико Търново|Стоян Ангелов|Бургас|Цветелина Петкова|Русе',
  ),
  people(
    'Greek',
    'windows-1253 iso-8859-7 ibm737',
    'Γιώργος Παπαδόπουλος|Θεσσαλονίκη|Λεωφόρος Κηφισίας|Μαρία Νικολάου|Αθήνα|Ελένη Κωνσταντίνου|Πάτρα|Ηράκλειο|Δημήτρης Αλεξίου|Οδός Ερμού',
  ),
  people(
    'Turkish',
    'windows-1254 iso-8859-9 ibm857',
    'Ayşe Yılmaz|İstanbul|Beşiktaş|Mustafa Çağlar|Eskişehir|Gülşen Öztürk|Atatürk Bulvarı|Diyarbakır|Oğuz Kılıç|Şanlıurfa',
  ),
  people(
    'Hebrew',
    'windows-1255 iso-8859-8',
    'דוד כהן|תל אביב|רחוב הרצל|ירושלים|שרה לוי|משה מזרחי|חיפה|באר שבע|רחל פרץ|שדרות רוטשילד',
  ),
  people(
    'Arabic',
    'windows-1256 iso-8859-6',
    'محمد أحمد|القاهرة|شارع الملك فهد|الرياض|فاطمة الزهراء|عبد الله بن سعيد|دمشق|خالد إبراهيم|الإسكندرية|نور الدين',
  ),
  people(
    'Lithuanian',
    'windows-1257 iso-8859-13',
    'Žydrūnas Šimkus|Šiauliai|Panevėžys|Gedimino prospektą|Rūta Kazlauskaitė|Jonas Žukauskas|Klaipėda|Eglė Petrauskienė|Mažeikiai|Giedrė Šaltytė',
  ),
  people(
    'Latvian',
    'windows-1257 iso-8859-13',
    'Jānis Bērziņš|Rīga|Jūrmala|Brīvības iela|Līga Kalniņa|Rēzekne|Andris Ozoliņš|Daugavpils, Cēsis|Kārlis Šķēle|Ķekava',
  ),
  people(
    'Estonian',
    'windows-1257',
    'Jüri Põld|Pärnu|Tõnu Õunapuu|Võru|Põltsamaa|Kärt Mägi|Jõhvi|Hõbe tänav|Külli Sõber|Šveits',
  ),
  people(
    'Vietnamese',
    'windows-1258',
    'Nguyễn Văn Hùng|Trần Thị Hương|Hà Nội|Thành phố Hồ Chí Minh|Đà Nẵng|Lê Quốc Việt|Đường Lê Lợi|Phạm Ngọc Ánh|Quận Ba Đình|Hải Phòng',
  ),
  people(
    'Thai',
    'windows-874',
    'สมชาย ใจดี|กรุงเทพมหานคร|ถนนสุขุมวิท|เชียงใหม่|วิไลวรรณ ศรีสุข|ภูเก็ต|นครราชสีมา|ประเสริฐ แก้วมณี|ขอนแก่น|สุดารัตน์',
  ),
  people(
    'Japanese',
    'shift_jis euc-jp',
    '山田太郎|東京都新宿区西新宿|株式会社あおぞら|鈴木花子|大阪市北区梅田|さくらマンション|中村健太|福岡県博多区|ヤマモト商店|渡辺恵美',
  ),
  people(
    'Chinese, simplified',
    'gb18030',
    '张伟|北京市朝阳区建国路|上海浦东新区|李秀英|深圳市腾飞科技有限公司|刘洋|广州市天河区|欧阳娜娜|陈晓明|杭州西湖大道',
  ),
  people(
    'Chinese, traditional',
    'big5',
    '陳志明|台北市信義區松仁路|王美玲|高雄市前鎮區|林怡君|新竹科學園區|黃俊傑|宏達電子股份有限公司|張雅婷|桃園市中壢區',
  ),
  people(
    'Korean',
    'euc-kr',
    '김민수|서울특별시 강남구|이영희|부산광역시 해운대구|박지훈|주식회사 한빛|최은정|경기도 성남시 분당구|정현우|대전시 유성구',
  ),
]

function people(language: string, encodings: string, cells: string): People {
  return { language, encodings: encodings.split(' '), cells: cells.split('|') }
}
