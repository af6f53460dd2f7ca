# Lets TaskJuggler's own parser judge projects: ruby oracle.rb FILE.tjp... prints one line for each, `ok` or `refused` and
# the file. The parser is made once; each file is read in a process of its own, since it keeps what it has read.
require 'taskjuggler/TaskJuggler'

TaskJuggler.new
parser = TaskJuggler::ProjectFileParser.new
parser.updateParserTables

ARGV.each do |file|
  child = fork do
    $stdout.reopen('/dev/null')
    $stderr.reopen('/dev/null')
    begin
      parser.open(file, true)
      project = parser.parse(:project)
      exit!(project && TaskJuggler::MessageHandlerInstance.instance.errors.zero? ? 0 : 1)
    rescue SystemExit, StandardError
      # Some mistakes end the program there.
      exit!(1)
    end
  end
  Process.wait(child)
  puts "#{$?.exitstatus == 0 ? 'ok' : 'refused'} #{file}"
end
