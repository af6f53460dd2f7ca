# Lets TaskJuggler's own parser judge projects: ruby oracle.rb FILE.tjp... prints one line for each, `ok` or `refused` and
# the file. Each is read in a process of its own, since the parser keeps what it has read.
require 'taskjuggler/TaskJuggler'

ARGV.each do |file|
  child = fork do
    $stdout.reopen('/dev/null')
    $stderr.reopen('/dev/null')
    begin
      project = TaskJuggler.new
      exit!(project.parse([file]) && project.errors.zero? ? 0 : 1)
    rescue SystemExit, StandardError
      # Some mistakes end the program there.
      exit!(1)
    end
  end
  Process.wait(child)
  puts "#{$?.exitstatus == 0 ? 'ok' : 'refused'} #{file}"
end
